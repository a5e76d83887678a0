"""Every error a user can meet. The message says what, where, and what would be right; no traceback is needed to read it."""

from collections.abc import Mapping
from typing import Any


class Picklable:
    """An exception that goes to another process and comes back, whatever it is made with.

    Python makes an exception anew from its message alone, which fails where more was given.
    """

    left_behind: tuple[str, ...] = ()  # what only means something in this process: None in the copy
    args: tuple[Any, ...]

    def __reduce__(self) -> Any:
        state = {name: None if name in self.left_behind else value for name, value in vars(self).items()}
        return _made_again, (type(self), self.args, state)


def _made_again(kind: type[BaseException], arguments: tuple[Any, ...], state: Mapping[str, Any]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


class SimtlabError(Picklable, Exception):
    """The root of all errors simtlab raises on purpose."""


class CompileError(SimtlabError):
    """CUDA C++ that the compiler refused; the message is the compiler's own text."""


class PtxError(SimtlabError):
    """PTX that cannot be understood: syntax, an undeclared name, a wrong operand."""

    def __init__(self, problem: str, line: int, column: int, source_name: str = "PTX"):
        self.problem, self.line, self.column, self.source_name = problem, line, column, source_name
        super().__init__(f"{source_name}:{line}:{column}: {problem}")


class UnknownInstruction(PtxError):
    """A PTX instruction outside the supported set; raised before anything runs."""


class LaunchError(SimtlabError):
    """A launch that cannot start: wrong arguments, a block too large, a resource that does not fit."""


class OutOfMemory(LaunchError):
    """Device memory has no room for what is asked for."""


class TooLarge(LaunchError):
    """A cooperative launch whose CTAs are not all on the cores at once."""


class DeviceFault(SimtlabError):
    """A kernel stopped by what it did: a bad access, a trap, a failed assertion, a stack overflow. `kind` is what it was."""

    kind = "outside"


class Deadlock(SimtlabError):
    """A kernel stopped because some warps can never go on; the message lists who waits where."""


class CycleLimit(SimtlabError):
    """A timed launch stopped at its limit of cycles; the message lists who waits where, `run` is what was counted until then."""

    left_behind = ("program",)

    def __init__(self, message: str, program: Any, run: Any):
        self.program, self.run = program, run
        super().__init__(message)


class ConfigError(SimtlabError):
    """A machine that cannot be built: an unknown key, an impossible value, keys that contradict one another."""


class PolicyError(SimtlabError):
    """A policy that does what it may not: an impossible answer, a write to the machine, an index too large, an endless loop."""
