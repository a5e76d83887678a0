"""What a cubin says of its kernels: parameters, registers, memory, code, and the constant banks they read."""

import struct
from dataclasses import dataclass, field
from functools import cached_property

from simtlab.frontend.ast import SourceLine
from simtlab.frontend.sass.elf import BadCubin, Elf, Relocation, Section, Symbol
from simtlab.frontend.sass.lines import LineTable, lines_of

INSTRUCTION_BYTES = 16
# Attributes of .nv.info (EIATTR_…) as `cuobjdump -elf` names them.
PARAMETER_BANK, FRAME_SIZE, MIN_STACK_SIZE, KERNEL_PARAMETER, REGISTER_COUNT = 0x0A, 0x11, 0x12, 0x17, 0x2F
UNKNOWN_SIZE = 0xFFFFFFFF
GLOBAL_SECTIONS = (".nv.global", ".nv.global.init")
ENTRY = 0x10  # of a symbol's st_other (STO_CUDA_ENTRY): it can be launched
CONSTANTS = ".nv.constant3"  # __constant__ variables


@dataclass(frozen=True)
class Parameter:
    offset: int
    size: int


@dataclass(frozen=True)
class CodeSymbol:
    """A function of a program: the kernel itself, those that the compiler put behind it, and those in sections of their own."""

    name: str
    start: int  # from the program's start
    size: int
    section: int  # where its section begins, from the program's start


@dataclass(frozen=True)
class KernelImage:
    """A kernel as the cubin has it; functions that lie in sections of their own come behind it."""

    name: str
    code: bytes
    functions: tuple[CodeSymbol, ...]
    relocations: tuple[Relocation, ...]
    registers: int
    stack_bytes: int
    stack_is_known: bool  # calls do not nest without end
    parameters: tuple[Parameter, ...]
    parameter_start: int  # in bank 0
    parameter_bytes: int
    shared_bytes: int
    banks: dict[int, bytes]  # constant banks 0, 2, 4, …, as the file has them

    @property
    def words(self) -> list[int]:
        """The instructions, 128 bits each."""
        return [int.from_bytes(self.code[k : k + INSTRUCTION_BYTES], "little") for k in range(0, len(self.code), INSTRUCTION_BYTES)]


@dataclass(frozen=True)
class GlobalVariable:
    """A `__device__` or `__constant__` variable, with its bytes if it has any that are not zero."""

    name: str
    size: int
    constant: bool
    offset: int  # in its section
    initial: bytes
    relocations: tuple[Relocation, ...] = ()


def fields(shape: str, attribute: bytes) -> tuple[int, ...]:
    """The numbers that an attribute of .nv.info holds."""
    try:
        return struct.unpack_from(shape, attribute)
    except struct.error:
        raise BadCubin("this cubin is damaged: an attribute of .nv.info is too short") from None


def _is_data_of(section: str, kernel: str) -> bool:
    """Whether a section has constants of a kernel, or variables."""
    bank, _, owner = section.removeprefix(".nv.constant").partition(".")
    return section in GLOBAL_SECTIONS or (section.startswith(".nv.constant") and bank.isdigit() and owner in ("", kernel))


@dataclass
class Cubin:
    """A cubin and what can be asked of it."""

    content: bytes
    elf: Elf = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.elf = Elf(self.content)
        if not self.kernels:
            raise BadCubin("this cubin has no kernels")

    @property
    def architecture(self) -> str:
        """Such as sm_90: the second byte of the ELF flags, the third in files of newer layout."""
        (flags,) = struct.unpack_from("<I", self.content, 48)
        version = self.content[8]
        return f"sm_{(flags >> 8) & 0xFF if version >= 8 else flags & 0xFF}"

    def runs_on(self, isa: str) -> bool:
        """Whether an architecture executes it: one of the same major number that is not older."""
        own, other = (int(name.removeprefix("sm_")) if name.startswith("sm_") else 0 for name in (self.architecture, isa))
        return own // 10 == other // 10 and own <= other

    @cached_property
    def kernels(self) -> list[str]:
        """Names of what can be launched: functions with a mark in the symbol table."""
        return [s.name for s in self.elf.symbols if s.is_function and s.other & ENTRY and self.elf.section(f".text.{s.name}")]

    def kernel(self, name: str) -> KernelImage:
        text = self.elf.section(f".text.{name}")
        if text is None:
            raise BadCubin(f"no kernel '{name}' in this cubin; there are: {', '.join(self.kernels)}")
        texts = [text, *self._functions_apart(text)]
        for one in texts:
            if not one.size or one.size % INSTRUCTION_BYTES:
                raise BadCubin(f"this cubin is damaged: section {one.name} has {one.size} bytes")
        info = f".nv.info.{name}"
        shared = self.elf.section(f".nv.shared.{name}")
        start, size = self._parameter_bank(info)
        return KernelImage(
            name, b"".join(one.bytes for one in texts), self._functions(texts), tuple(self.elf.relocations(text.name)),
            self._registers(name, texts[1:]), *self._stack(name),
            self._parameters(info), start, size, shared.size if shared else 0, self._banks(name),
        )  # fmt: skip

    def _functions_apart(self, kernel: Section) -> list[Section]:
        """Sections with functions that a kernel can come to: it, its constants, variables, or such a function have their address.
        The linker leaves others in the file, without the constants that they read."""
        launched = {f".text.{name}" for name in self.kernels}
        apart = [one for one in self.elf.sections if one.name.startswith(".text.") and one.name not in launched]
        owner = kernel.name.removeprefix(".text.")
        found: list[Section] = []
        left = [kernel.name, *(one.name for one in self.elf.sections if _is_data_of(one.name, owner))] if apart else []
        while left:
            numbers = {relocation.symbol.section for relocation in self.elf.relocations(left.pop())}
            reached = [one for one in apart if one not in found and self.elf.sections.index(one) in numbers]
            found += reached
            left += [one.name for one in reached]
        return [one for one in apart if one in found]

    def _functions(self, texts: list[Section]) -> tuple[CodeSymbol, ...]:
        """The functions of some sections that are laid out one after the other."""
        found, start = [], 0
        for text in texts:
            number = self.elf.sections.index(text)
            found += [CodeSymbol(s.name, start + s.value, s.size, start) for s in self.elf.symbols
                      if s.section == number and (s.is_function or s.name.startswith("$"))]  # fmt: skip
            start += text.size
        return tuple(sorted(set(found), key=lambda one: one.start))

    def _parameter_bank(self, info: str) -> tuple[int, int]:
        for kind, value in self.elf.attributes(info):
            if kind == PARAMETER_BANK:
                _, offset, size = fields("<IHH", value)
                return offset, size
        bank = self.elf.section(f".nv.constant0.{info.removeprefix('.nv.info.')}")
        return (bank.size if bank else 0), 0

    def _parameters(self, info: str) -> tuple[Parameter, ...]:
        found = {}
        for kind, value in self.elf.attributes(info):
            if kind == KERNEL_PARAMETER:
                _, ordinal, offset, flags = fields("<IHHI", value)
                found[ordinal] = Parameter(offset, flags >> 18)
        return tuple(found[k] for k in sorted(found))

    def _counted(self, kind: int, name: str) -> int:
        """An attribute of .nv.info that counts something by function."""
        for found, value in self.elf.attributes(".nv.info"):
            if found == kind:
                number, count = fields("<II", value)
                if self._symbol(number).name == name:
                    return count
        return 0

    def _registers(self, name: str, apart: list[Section]) -> int:
        """What a kernel has: as many as the one of its functions that needs most, where calls go through pointers."""
        return max(self._counted(REGISTER_COUNT, one) for one in (name, *(text.name.removeprefix(".text.") for text in apart)))

    def _stack(self, name: str) -> tuple[int, bool]:
        """The least stack that a kernel needs, and True; where calls may nest without end, what its own frame takes, and False."""
        least = self._counted(MIN_STACK_SIZE, name)
        return (self._counted(FRAME_SIZE, name), False) if least == UNKNOWN_SIZE else (least, True)

    def _symbol(self, number: int) -> Symbol:
        if number >= len(self.elf.symbols):
            raise BadCubin("this cubin is damaged: it names a symbol that is not there")
        return self.elf.symbols[number]

    def _banks(self, name: str) -> dict[int, bytes]:
        found = {}
        for section in self.elf.sections:
            if section.name.startswith(".nv.constant"):
                number, _, owner = section.name.removeprefix(".nv.constant").partition(".")
                if number.isdigit() and owner in ("", name):
                    found[int(number)] = section.bytes
        return found

    @cached_property
    def _lines(self) -> LineTable:
        return lines_of(self.elf)

    def line_of(self, image: KernelImage, section: int, address: int) -> SourceLine | None:
        """The CUDA line of an instruction of a kernel, whose section begins somewhere in it."""
        owner = next((one.name for one in image.functions if one.start == section), image.name)
        return self._lines.at(owner, address - section)

    @cached_property
    def variables(self) -> dict[str, GlobalVariable]:
        """Variables in global and constant memory, by name."""
        found = {}
        for number, section in enumerate(self.elf.sections):
            if section.name not in (*GLOBAL_SECTIONS, CONSTANTS):
                continue
            relocations = self.elf.relocations(section.name)
            for s in self.elf.symbols:
                if s.section != number or s.info & 15 != 1:
                    continue
                mine = tuple(r for r in relocations if s.value <= r.offset < s.value + s.size)
                found[s.name] = GlobalVariable(
                    s.name, s.size, section.name == CONSTANTS, s.value, section.bytes[s.value : s.value + s.size], mine
                )
        return found
