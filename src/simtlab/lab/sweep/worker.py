"""A worker process: `python -m simtlab.lab.sweep.worker` takes tasks from stdin and writes what came of them to stdout.

Messages are pickles of plain values, one after another. It ends when stdin does, at once and whatever it is doing: a worker
never outlives the process that started it.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
from queue import SimpleQueue
from traceback import walk_tb
from typing import Any, BinaryIO

from simtlab.errors import SimtlabError
from simtlab.lab.errors import SourcesChanged
from simtlab.lab.sources import simulator_digest
from simtlab.outside import place_of, words

SIGN_SECONDS = 1.0  # between signs of life


def main() -> None:
    """Serve until stdin ends."""
    gc.disable()
    digest = simulator_digest()  # of the files that are imported from here on
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kernels print must not be taken for a message
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    from simtlab.lab.ready import load_machine_once

    load_machine_once()
    gc.freeze()  # what was loaded stays; looking through it meanwhile and after every run would take long
    gc.enable()
    send(out, ("ready", digest))
    while True:
        experiment, key = inbox.get()
        send(out, serve(experiment, key, out))
        gc.collect()  # a GPU's memory is in reference cycles


def listen(source: BinaryIO, inbox: SimpleQueue[Any]) -> None:
    """Pass tasks on; the end of the source is the end of the process."""
    try:
        while True:
            inbox.put(pickle.load(source))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(0)


def serve(experiment: Any, key: str, out: BinaryIO) -> tuple[str, Any]:
    """Run one experiment: ("done", record), ("failed", error) or ("memory", error)."""
    from simtlab.lab.run_experiment import run_experiment

    last = 0.0

    def sign_of_life(cycles: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SIGN_SECONDS:
            last = time.monotonic()
            send(out, ("alive", cycles))

    try:
        record = run_experiment(experiment, sign_of_life)
        if record.key != key:
            raise SourcesChanged(f"{experiment}: its sources were changed since the sweep was planned; run the sweep again")
        return "done", record
    except MemoryError as error:
        return "memory", str(error)
    except SimtlabError as error:
        return "failed", f"{type(error).__name__}: {error}"
    except (Exception, SystemExit) as error:  # of a workload's or a policy's own code
        return "failed", f"{words(error)} ({place_of(error) or innermost(error)})"


def innermost(error: BaseException) -> str:
    """File and line where an error arose, whoever's they are."""
    frame, line = list(walk_tb(error.__traceback__))[-1]
    return f"{frame.f_code.co_filename}:{line}"


def send(out: BinaryIO, message: tuple[str, Any]) -> None:
    pickle.dump(message, out)
    out.flush()


if __name__ == "__main__":
    main()
