"""What can be wrong with a workload, its input files and its results."""

from os import PathLike, fspath

from simtlab.errors import SimtlabError


class WorkloadError(SimtlabError):
    """A workload that cannot run: an unknown name, size or parameter, or a folder that is not one."""


def require(fulfilled: bool, problem: str) -> None:
    """WorkloadError unless what a program asks of its input is fulfilled."""
    if not fulfilled:
        raise WorkloadError(problem)


class InputFileError(SimtlabError):
    """An input file that cannot be read: the file, the line where there is one, and what was expected."""

    def __init__(self, path: str | PathLike, line: int | None, problem: str):
        self.path, self.line, self.problem = fspath(path), line, problem
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {problem}")


class WrongResult(SimtlabError):
    """A result that differs from the reference: which array, how many elements, the first one."""

    def __init__(self, array: str, wrong: int, message: str):
        self.array, self.wrong = array, wrong
        super().__init__(message)
