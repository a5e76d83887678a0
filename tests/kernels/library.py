"""The CUDA sources beside this file."""

from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES = sorted(FOLDER.glob("*.cu"))


def source(name: str) -> Path:
    """The path of `<name>.cu`."""
    return FOLDER / f"{name}.cu"


def line_of(name: str, marker: str) -> int:
    """The line of a source that holds a marker, for messages that name lines."""
    lines = source(name).read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, 1) if marker in line]
    return number
