"""The command line."""

import atexit
import gc
import sys

MANY_OBJECTS = 100_000  # that were made since Python's collector last looked for cycles; loading the machine makes 400,000


def main() -> None:
    """The entry point of `simtlab`."""
    gc.set_threshold(MANY_OBJECTS, 20, 100)
    atexit.register(gc.freeze)  # nothing that is left then need be looked through: it goes with the process
    try:
        from simtlab.cli import correlate, look  # noqa: F401  (its commands join the others)
        from simtlab.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a kernel may print what the terminal cannot show
        app(prog_name="simtlab")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not began_with_ctrl_c(error):
            raise
        sys.exit(130)


def began_with_ctrl_c(error: BaseException | None) -> bool:
    """Whether an error came up while Ctrl-C was dealt with: one that falls into the taking of a lock has it released untaken."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


__all__ = ["main"]
