"""A program: one kernel and every function it can reach, laid out as one array of instructions ready to execute."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simtlab.errors import PtxError
from simtlab.frontend import ast
from simtlab.frontend.cubin import RegisterCounts
from simtlab.frontend.mangled import readable_name
from simtlab.isa.build import provide
from simtlab.program.communication import depends_on_order, has_plain_stores, may_communicate
from simtlab.program.encode import MAX_INSTRUCTIONS, encode
from simtlab.program.frame import place_in_order, shared_layout
from simtlab.program.function import Depth, FunctionCode, depth_of, lower_function
from simtlab.program.load_classes import Load, LoadClass, classify
from simtlab.program.lower import Lowered, Symbols
from simtlab.program.reach import reachable, shared_variables
from simtlab.program.register_limit import register_limit
from simtlab.program.sass.constants import ConstantBanks
from simtlab.program.sass.load_classes import classify_machine_code

FUNCTION_BASE = 0x0300_0000_0000  # a function's address: this plus 16 times its number in the module
FUNCTION_STEP = 16
MAX_PARAMETER_BYTES = 32764  # as PTX ISA 8.1 and later allow on sm_70
MAX_LOCAL_BYTES = 512 * 1024  # of a thread, as on every GPU since sm_20
MOST_LINES_OF_A_CALL = 12  # that a message shows
FROM_PTX = RegisterCounts(why_none="the kernel came as PTX")


@dataclass
class Program:
    """What a launch needs to know of a kernel."""

    kernel: ast.Function
    module: ast.Module
    functions: dict[str, FunctionCode]
    table: np.ndarray  # of code_t: one record with all instructions
    targets: np.ndarray  # of indirect branches
    entries: np.ndarray  # first instruction of each of the module's functions, -1 where the program has it not
    lowered: list[Lowered]  # beside code, entry by entry
    parameter_offsets: dict[str, int]
    parameter_bytes: int
    static_shared_bytes: int
    depth: Depth
    count_registers: Callable[[], RegisterCounts]  # asked only when the counts are wanted: it may compile again
    constants: ConstantBanks | None = None  # of machine code: what its constant banks hold

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def is_machine_code(self) -> bool:
        return self.constants is not None

    @property
    def readable_name(self) -> str:
        """Its name for a message: `scale<float>` of `_Z5scaleIfEvPT_`."""
        return readable_name(self.name)

    @cached_property
    def ctas_communicate(self) -> bool:
        """Whether its CTAs may see each other's work."""
        return may_communicate(self.lowered)

    @cached_property
    def depends_on_order(self) -> bool:
        """Whether what its CTAs tell each other may depend on which comes first."""
        return self.ctas_communicate and depends_on_order(self.lowered)

    @cached_property
    def stores_plainly(self) -> bool:
        """Whether it stores, other than by atomics, where another thread may look."""
        return has_plain_stores(self.lowered)

    @cached_property
    def code(self) -> np.ndarray:
        """The instructions, of instruction_t."""
        return self.table["row"][0, : len(self.lowered)].view(np.recarray)

    @cached_property
    def addresses(self) -> tuple[int, int, int]:
        """Where the executor finds code, branch targets and functions' entries, in the host's memory."""
        return self.code.ctypes.data, self.targets.ctypes.data, self.entries.ctypes.data

    @property
    def registers(self) -> int:
        """32-bit registers of a thread, which decide how many CTAs fit in a core: ptxas's count if there is one."""
        return self.own_registers if self.ptxas_registers is None else self.ptxas_registers

    @cached_property
    def ptxas_registers(self) -> int | None:
        """As ptxas allocates them; None if the kernel came as PTX, or ptxas refused it.

        In relocatable code ptxas counts each function alone, and the linker takes the most that any of them needs.
        """
        counts = self.register_counts.by_name
        return max(counts[name] for name in self.functions if name in counts) if self.name in counts else None

    @property
    def own_registers(self) -> int:
        """As simtlab allocates them from the PTX, functions it calls included, up to what the kernel's directives leave it."""
        return min(self.depth.registers, register_limit(self.kernel, self.module.target[0]))

    @property
    def registers_from(self) -> str:
        """Whose count `registers` is, and if it is simtlab's own, why."""
        if self.ptxas_registers is not None:
            return f"ptxas for {self.register_counts.architecture}"
        return f"simtlab ({self.register_counts.why_none or 'ptxas lists no count for it'})"

    @cached_property
    def register_counts(self) -> RegisterCounts:
        return self.count_registers()

    @property
    def takes_parameter_address(self) -> bool:
        return any(code.lowering.takes_parameter_address for code in self.functions.values())

    @cached_property
    def loads(self) -> list[Load]:
        """The global loads: deterministic or not, and why."""
        if self.is_machine_code:
            return classify_machine_code(self.functions[self.name])
        return classify(self.functions, self.module)

    @cached_property
    def load_classes(self) -> np.ndarray:
        """The LoadClass of every instruction, by pc: 1 for a deterministic global load, 0 for another, -1 for the rest."""
        classes = np.full(len(self.lowered), LoadClass.NO_GLOBAL_LOAD, np.int8)
        for load in self.loads:
            classes[load.pc] = load.load_class
        return classes

    def where(self, pc: int) -> str:
        """An instruction for a message: its text and the PTX and CUDA lines it came from."""
        origin = self.lowered[pc].origin
        line = origin.position.line
        text = statement(self.module.text.splitlines()[line - 1 :])
        source = f", {origin.source.file}:{origin.source.line}" if origin.source else ""
        return f"'{text}' ({self.module.source_name}:{line}{source})"


def statement(lines: Sequence[str]) -> str:
    """The text up to a semicolon; calls stand on several lines."""
    text = ""
    for line in lines[:MOST_LINES_OF_A_CALL]:
        text = f"{text} {line.strip()}".strip()
        if ";" in line:
            break
    return text


def function_addresses(module: ast.Module) -> dict[str, int]:
    """The number that stands for each function where its address is taken."""
    return {name: FUNCTION_BASE + FUNCTION_STEP * number for number, name in enumerate(module.functions)}


def check_size(module: ast.Module, kernel: str, names: Sequence[str], parameter_bytes: int) -> None:
    """Refuse what no GPU could hold before any work is put into it."""
    if parameter_bytes > MAX_PARAMETER_BYTES:
        problem = f"kernel '{kernel}' has {parameter_bytes} bytes of parameters; at most {MAX_PARAMETER_BYTES} are possible"
        raise at(module, kernel, problem)
    count = sum(isinstance(s, ast.Instruction) for name in names for s in module.functions[name].body or ())
    if count > MAX_INSTRUCTIONS:
        raise at(module, kernel, f"kernel '{kernel}' has {count} instructions; at most {MAX_INSTRUCTIONS} are possible")


def at(module: ast.Module, kernel: str, problem: str) -> PtxError:
    """An error where the kernel begins."""
    place = module.functions[kernel].position
    return PtxError(problem, place.line, place.column, module.source_name)


def build_program(
    module: ast.Module,
    kernel: str,
    addresses: Mapping[str, int],
    count_registers: Callable[[], RegisterCounts] = lambda: FROM_PTX,
    yield_after: int = 0,
) -> Program:
    """Lower, analyse, allocate and lay out a kernel. `addresses` gives module variables' device addresses. Lanes that part meet by
    the SIMT stack, or with `yield_after` at convergence barriers; then it says after how many backward branches some give way."""
    parameter_offsets, parameter_bytes = place_in_order(module.functions[kernel].parameters)
    names = reachable(module, kernel)
    check_size(module, kernel, names, parameter_bytes)
    shared = shared_variables(module, names)
    shared_offsets, shared_bytes = shared_layout(shared)
    spaces = {v.name: v.space for v in module.variables.values()} | dict.fromkeys(shared, "shared")
    symbols = Symbols({**function_addresses(module), **addresses, **shared_offsets}, spaces)
    functions: dict[str, FunctionCode] = {}
    first = 0
    for name in names[:1] if yield_after else names:  # the kernel comes first
        parameters = (parameter_offsets, parameter_bytes) if name == kernel else ({}, 0)
        functions[name] = lower_function(module.functions[name], module, symbols, parameters, first, yield_after)
        first += len(functions[name].instructions)
    lowered = [instruction for code in functions.values() for instruction in code.instructions]
    native = provide({i.shape for i in lowered if i.spelling})
    table, targets = encode(functions, native)
    depth = depth_of(kernel, functions)
    if depth.local_bytes > MAX_LOCAL_BYTES:
        needed = f"kernel '{kernel}' needs {depth.local_bytes} bytes of local memory a thread"
        raise at(module, kernel, f"{needed}; at most {MAX_LOCAL_BYTES} are possible")
    entries = [functions[name].first if name in functions else -1 for name in module.functions]
    return Program(
        kernel=module.functions[kernel],
        module=module,
        functions=functions,
        table=table,
        targets=targets,
        entries=np.array(entries, np.int32),
        lowered=lowered,
        parameter_offsets=parameter_offsets,
        parameter_bytes=parameter_bytes,
        static_shared_bytes=shared_bytes,
        depth=depth,
        count_registers=count_registers,
    )
