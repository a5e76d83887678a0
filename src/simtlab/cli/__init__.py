"""The command line."""

import sys


def main() -> None:
    """The entry point of `simtlab`."""
    try:
        from simtlab.cli import correlate, look  # noqa: F401  (its commands join the others)
        from simtlab.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a kernel may print what the terminal cannot show
        app(prog_name="simtlab")
    except KeyboardInterrupt:
        sys.exit(130)


__all__ = ["main"]
