"""What a cubin says of its kernels: parameters, registers, memory, code, and the constant banks they read."""

import struct
from dataclasses import dataclass, field
from functools import cached_property

from simtlab.frontend.sass.elf import BadCubin, Elf, Relocation, Symbol

INSTRUCTION_BYTES = 16
# Attributes of .nv.info (EIATTR_…) as `cuobjdump -elf` names them.
PARAMETER_BANK, FRAME_SIZE, MIN_STACK_SIZE, KERNEL_PARAMETER, REGISTER_COUNT = 0x0A, 0x11, 0x12, 0x17, 0x2F
GLOBAL_SECTIONS = (".nv.global", ".nv.global.init")
CONSTANTS = ".nv.constant3"  # __constant__ variables


@dataclass(frozen=True)
class Parameter:
    offset: int
    size: int


@dataclass(frozen=True)
class CodeSymbol:
    """A function in a kernel's code: the kernel itself, and those that the compiler put behind it."""

    name: str
    start: int
    size: int


@dataclass(frozen=True)
class KernelImage:
    """A kernel as the cubin has it."""

    name: str
    code: bytes
    functions: tuple[CodeSymbol, ...]
    relocations: tuple[Relocation, ...]
    registers: int
    stack_bytes: int
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

    @cached_property
    def kernels(self) -> list[str]:
        return [section.name.removeprefix(".text.") for section in self.elf.sections if section.name.startswith(".text.")]

    def kernel(self, name: str) -> KernelImage:
        text = self.elf.section(f".text.{name}")
        if text is None:
            raise BadCubin(f"no kernel '{name}' in this cubin; there are: {', '.join(self.kernels)}")
        if not text.size or text.size % INSTRUCTION_BYTES:
            raise BadCubin(f"this cubin is damaged: the code of '{name}' has {text.size} bytes")
        info = f".nv.info.{name}"
        shared = self.elf.section(f".nv.shared.{name}")
        start, size = self._parameter_bank(info)
        return KernelImage(
            name, text.bytes, self._functions(name), tuple(self.elf.relocations(text.name)),
            self._counted(REGISTER_COUNT, name), self._counted(MIN_STACK_SIZE, name),
            self._parameters(info), start, size, shared.size if shared else 0, self._banks(name),
        )  # fmt: skip

    def _functions(self, name: str) -> tuple[CodeSymbol, ...]:
        number = next(k for k, section in enumerate(self.elf.sections) if section.name == f".text.{name}")
        found = [CodeSymbol(s.name, s.value, s.size) for s in self.elf.symbols if s.section == number and s.is_function]
        inner = [CodeSymbol(s.name, s.value, s.size) for s in self.elf.symbols if s.section == number and s.name.startswith("$")]
        return tuple(sorted(set(found) | set(inner), key=lambda one: one.start))

    def _parameter_bank(self, info: str) -> tuple[int, int]:
        for kind, value in self.elf.attributes(info):
            if kind == PARAMETER_BANK:
                _, offset, size = struct.unpack_from("<IHH", value)
                return offset, size
        bank = self.elf.section(f".nv.constant0.{info.removeprefix('.nv.info.')}")
        return (bank.size if bank else 0), 0

    def _parameters(self, info: str) -> tuple[Parameter, ...]:
        found = {}
        for kind, value in self.elf.attributes(info):
            if kind == KERNEL_PARAMETER:
                _, ordinal, offset, flags = struct.unpack_from("<IHHI", value)
                found[ordinal] = Parameter(offset, flags >> 18)
        return tuple(found[k] for k in sorted(found))

    def _counted(self, kind: int, name: str) -> int:
        """An attribute of .nv.info that counts something by function."""
        for found, value in self.elf.attributes(".nv.info"):
            if found == kind:
                number, count = struct.unpack_from("<II", value)
                if self._symbol(number).name == name:
                    return count
        return 0

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
