"""Calls as data flow sees them: who may call a function, whom a call may reach, where its arguments stand."""

from collections.abc import Mapping
from dataclasses import dataclass

from simtlab.frontend import ast
from simtlab.program.action import Action
from simtlab.program.definitions import Definitions
from simtlab.program.function import FunctionCode
from simtlab.program.reach import called_by_address


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call: instruction k of a function. Byte b of the callee's frame is byte `base` + b of the caller's."""

    function: str
    k: int
    base: int
    callees: tuple[str, ...]


class CallGraph:
    """The functions of a program with their definitions, and the calls between them."""

    def __init__(self, functions: Mapping[str, FunctionCode], module: ast.Module):
        self.functions = functions
        self.definitions = {name: Definitions(code) for name, code in functions.items()}
        self.callers: dict[str, list[CallSite]] = {name: [] for name in functions}
        self._sites: dict[tuple[str, int], CallSite] = {}
        by_address = tuple(sorted(called_by_address(module, functions)))
        for name, code in functions.items():
            for k, instruction in enumerate(code.instructions):
                if instruction.action == Action.CALL:
                    self._add(CallSite(name, k, instruction.values[0], (instruction.callee,)))
                elif instruction.action == Action.INDIRECT_CALL:
                    self._add(CallSite(name, k, instruction.values[0], by_address))

    def _add(self, site: CallSite) -> None:
        self._sites[site.function, site.k] = site
        for callee in site.callees:
            self.callers[callee].append(site)

    def site(self, function: str, k: int) -> CallSite | None:
        """The call at an instruction, if it is one."""
        return self._sites.get((function, k))

    def end(self, function: str) -> int:
        """The instruction that returns; every way out of a function leads there."""
        return len(self.functions[function].instructions) - 1
