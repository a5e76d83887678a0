"""Running an application: it is started with simtlab's library in the place of NVIDIA's, and served until it ends."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from simtlab.errors import SimtlabError
from simtlab.runtime.library_file import library_folder
from simtlab.runtime.requests import ANSWER, REQUEST, What
from simtlab.runtime.session import Log, Session

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

NO_RANDOM_ADDRESSES, THIS_PERSONALITY = 0x0040000, 0xFFFFFFFF  # of the Linux call personality


def run_application(command: Sequence[str], gpu: Gpu, log: Log, to_stderr: bool = False) -> int:
    """Run a program and its arguments on a GPU whose memory is in a file. Gives the program's exit code, negative for a signal.

    With `to_stderr` what it prints goes there, so that stdout is left for others.
    """
    if gpu.memory.file is None:
        raise SimtlabError("an application needs a GPU whose memory it can map: Gpu(memory_in_file=True)")
    program = find_program(command[0])
    folders = [str(library_folder(cuda)) for cuda in needed_versions(program)]
    listener, name = listen()
    given = os.environ.get("LD_LIBRARY_PATH")
    environment = {**os.environ, "SIMTLAB_SOCKET": name, "LD_LIBRARY_PATH": ":".join([*folders, *([given] if given else [])])}
    with closed_after(listener):
        server = threading.Thread(target=accept, args=(listener, gpu, log), daemon=True)
        server.start()
        try:
            output = 2 if to_stderr else None
            with fixed_addresses():
                child = subprocess.Popen([str(program), *command[1:]], env=environment, stdout=output)
        except OSError as problem:
            raise SimtlabError(f"cannot run {program}: {problem.strerror}") from None
        try:
            return child.wait()
        except BaseException:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            raise


def find_program(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise SimtlabError(f"there is no program {name}; `simtlab nvcc app.cu -o app` makes one")
    if not os.access(path, os.X_OK):
        raise SimtlabError(f"{name} is not a program: it may not be executed")
    return path if path.is_absolute() else Path.cwd() / path


def needed_versions(program: Path) -> list[int]:
    """The major versions of CUDA whose library a program names; of what is no binary (a script), the newest."""
    data = program.read_bytes()
    found = [cuda for cuda in (13, 12) if f"libcudart.so.{cuda}".encode() in data]
    return found or [13]


def listen() -> tuple[socket.socket, str]:
    """A socket with a name that is no file, so that nothing is left behind."""
    name = f"simtlab-{os.getpid()}-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind("\0" + name)
    listener.listen(16)
    return listener, name


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """A program that is started here has its libraries and stack where they always are, and the device's addresses free.

    It is said for this thread before the start rather than in the child, so that the start copies no page tables: of a process with
    much memory Linux refuses to. The kernel may forbid it, and then addresses are as they come.
    """
    personality = ctypes.CDLL(None).personality
    before = personality(THIS_PERSONALITY)
    personality(before | NO_RANDOM_ADDRESSES)
    try:
        yield
    finally:
        personality(before)


@contextmanager
def closed_after(listener: socket.socket) -> Iterator[None]:
    """Nobody waits at it any longer then: a thread that does would be left waiting by closing alone, and hold the GPU for ever."""
    try:
        yield
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def accept(listener: socket.socket, gpu: Gpu, log: Log) -> None:
    """Serve every process that comes: the program, and those that it starts."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection, gpu, log), daemon=True).start()


def serve(connection: socket.socket, gpu: Gpu, log: Log) -> None:
    """Answer one process until it ends."""
    session = Session(gpu, log)
    with connection, connection.makefile("rb", buffering=1 << 16) as asked:
        try:
            while len(head := asked.read(REQUEST.size)) == REQUEST.size:
                what, length, *given = REQUEST.unpack(head)
                data = asked.read(length) if length else b""
                if len(data) < length:
                    break
                error, (one, other, sent) = session.answer(what, tuple(given), data)
                connection.sendall(ANSWER.pack(error, len(sent), one, other) + sent)
                if what == What.HELLO and gpu.memory.file is not None:
                    socket.send_fds(connection, [b"m"], [gpu.memory.file])
        except (OSError, BrokenPipeError):
            pass
        finally:
            session.close()
