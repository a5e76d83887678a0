"""Every error a user can meet. The message says what, where, and what would be right; no traceback is needed to read it."""

from typing import Any


class SimtlabError(Exception):
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


class DeviceFault(SimtlabError):
    """A kernel stopped by what it did: a bad access, a trap, a failed assertion, a stack overflow."""


class Deadlock(SimtlabError):
    """A kernel stopped because some warps can never go on; the message lists who waits where."""


class CycleLimit(SimtlabError):
    """A timed launch stopped at its limit of cycles; the message lists who waits where, `run` is what was counted until then."""

    def __init__(self, message: str, program: Any, run: Any):
        self.program, self.run = program, run
        super().__init__(message)


class ConfigError(SimtlabError):
    """A machine that cannot be built: an unknown key, an impossible value, keys that contradict one another."""


class PolicyError(SimtlabError):
    """A policy that does what it may not: an impossible answer, a write to the machine, an index too large, an endless loop."""
