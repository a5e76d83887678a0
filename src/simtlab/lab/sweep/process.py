"""One worker process as its owner sees it: start it, give it a task, hear from it, end it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from simtlab.lab.experiment import Experiment
from simtlab.storage import PACKAGE

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # there is a process a core
COMMAND = [sys.executable, "-P", "-m", "simtlab.lab.sweep.worker"]
LEAVING_SECONDS = 10.0  # from the end of a worker's messages to its own end
LAST_BYTES = 2000  # of what a worker wrote to stderr before it died


class WorkerProcess:
    """A running worker. `tell(worker, message)` is called from a thread of its own; the message None is the worker's end."""

    def __init__(self, tell: Callable[[WorkerProcess, Any], None]):
        path = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process is
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C on the terminal is for the one who decides what to finish
        )  # fmt: skip
        self.last_sign = time.monotonic()
        self.ready = False
        self.runs = 0
        self.ended_by_us = ""
        threading.Thread(target=self._listen, args=(tell,), daemon=True).start()

    def _listen(self, tell: Callable[[WorkerProcess, Any], None]) -> None:
        assert self.process.stdout is not None
        try:
            while True:
                message = pickle.load(self.process.stdout)
                self.last_sign = time.monotonic()
                tell(self, message)
        except Exception:  # the end, or half a message of one that was killed while writing
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(LEAVING_SECONDS)  # it may be ending by itself, with a status that says why
            self.process.kill()
            self.process.wait()
            tell(self, None)

    def give(self, experiment: Experiment, key: str) -> None:
        """Send a task; that the worker is dead already is heard soon enough."""
        assert self.process.stdin is not None
        self.last_sign = time.monotonic()
        with suppress(OSError):
            pickle.dump((experiment, key), self.process.stdin)
            self.process.stdin.flush()

    def silent_for(self) -> float:
        """Seconds since the last sign of life."""
        return time.monotonic() - self.last_sign

    def end(self, why: str = "") -> None:
        """Kill it; `why` is told instead of the signal."""
        self.ended_by_us = self.ended_by_us or why
        self.process.kill()

    def leave(self) -> None:
        """End it and forget it."""
        self.process.kill()
        self.process.wait()
        self.errors.close()
        with suppress(OSError):  # what was not sent to it yet
            assert self.process.stdin is not None
            self.process.stdin.close()

    def obituary(self) -> str:
        """Why it died, in words."""
        if self.ended_by_us:
            return self.ended_by_us
        status = self.process.returncode
        if status is not None and status < 0:
            name = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
            memory = "; perhaps memory ran out" if -status == signal.SIGKILL else ""
            return f"its process was ended by {name}{memory}"
        return f"its process ended with status {status}{self.last_words()}"

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, size - LAST_BYTES))
        text = self.errors.read().decode(errors="replace").strip()
        return f": {text.splitlines()[-1]}" if text else ""
