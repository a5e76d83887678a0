"""From shapes to the addresses of their native functions: build what is new, keep object code on disk, load what is there."""

import hashlib
import json
import os
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite import ir

import simtlab.isa.families  # noqa: F401  fills the table
from simtlab.isa.lanes import I32, Lanes
from simtlab.isa.shape import Shape
from simtlab.isa.table import Modifiers, find
from simtlab.storage import cache_directory, digest_of_sources, keep


def build(module: ir.Module, shape: Shape) -> None:
    """Add the native function of one shape to an LLVM module."""
    row, modifiers = find(shape.spelling), Modifiers(shape.spelling)
    if row is None or row.build is None:
        raise KeyError(f"{shape.spelling} has no native function")
    lanes = Lanes(module, shape)
    if row.raw:
        result = row.build(lanes, modifiers)
        lanes.b.ret(I32(0) if result is None else result)
        return
    destinations = [modifiers.resolve(part.rstrip("?")) for token in row.destinations for part in token.split("|")]
    sources = [modifiers.resolve(token.rstrip("?")) for token in row.sources]
    first = len(destinations)
    present = [k for k in range(len(sources)) if shape.kinds[first + k] != "-"]
    given = [lanes.read(first + k, sources[k]) for k in present]
    if not row.own_marks:
        given = [lanes.marked(value, shape.mark(first + k), sources[k]) for k, value in zip(present, given, strict=True)]
    values = row.build(lanes, modifiers, *given)
    for k, value in enumerate(values if isinstance(values, tuple) else (values,)):
        lanes.write(k, value, destinations[k])
    lanes.b.ret(I32(0))


class _Library:
    """The native functions of this process. Object files hold many shapes each and are found by an index beside them."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.features = llvm.get_host_cpu_features().flatten()
        self.cpu = llvm.get_host_cpu_name()
        self.machine = self._target_machine()
        key = digest_of_sources("isa", also=(llvm.llvm_version_info, self.cpu, self.features))
        self.directory = cache_directory() / f"isa-{key}"
        self.addresses: dict[Shape, int] = {}
        self.engines: list[llvm.ExecutionEngine] = []
        self.indexes: dict[str, list[Shape]] = {}  # by name, which says what is in one: read once
        self.homes: dict[Shape, str] = {}  # the first index that has a shape
        self.lock = threading.Lock()

    def _target_machine(self) -> llvm.TargetMachine:
        return llvm.Target.from_default_triple().create_target_machine(opt=2, cpu=self.cpu, features=self.features)

    def provide(self, shapes: Iterable[Shape]) -> dict[Shape, int]:
        with self.lock:
            wanted = set(shapes)
            missing = wanted - self.addresses.keys()
            if missing:
                self._load(self._stored(missing))
                new = sorted(wanted - self.addresses.keys(), key=lambda shape: shape.symbol)
                if new:
                    self._compile(new)
            return {shape: self.addresses[shape] for shape in wanted}

    def _stored(self, missing: set[Shape]) -> list[Path]:
        """The indexes of object files that hold missing shapes."""
        names = sorted(os.listdir(self.directory)) if self.directory.is_dir() else []
        for name in names:
            if name.endswith(".json") and name not in self.indexes:
                self.indexes[name] = _shapes_in(self.directory / name)
                for shape in self.indexes[name]:
                    self.homes.setdefault(shape, name)
        homes = {self.homes[shape] for shape in missing if shape in self.homes}
        return [self.directory / name for name in sorted(homes.intersection(names))]  # one may have been deleted since

    def _load(self, indexes: list[Path]) -> None:
        for index in indexes:
            self._link(index.with_suffix(".o").read_bytes(), self.indexes[index.name])

    def _compile(self, shapes: list[Shape]) -> None:
        module = ir.Module("simtlab.isa")
        for shape in shapes:
            build(module, shape)
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        code = self.machine.emit_object(parsed)
        self._store(code, shapes)
        self._link(code, shapes)

    def _store(self, code: bytes, shapes: list[Shape]) -> None:
        name = hashlib.sha256("\n".join(shape.symbol for shape in shapes).encode()).hexdigest()[:20]
        index = json.dumps([[shape.spelling, shape.kinds, shape.marks] for shape in shapes])
        keep(self.directory / f"{name}.o", code)
        keep(self.directory / f"{name}.json", index.encode())

    def _link(self, code: bytes, shapes: list[Shape]) -> None:
        empty = llvm.parse_assembly("")
        engine = llvm.create_mcjit_compiler(empty, self._target_machine())  # which goes with the engine, if that goes
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.engines.append(engine)
        for shape in shapes:
            self.addresses.setdefault(shape, engine.get_function_address(shape.symbol))


def _shapes_in(index: Path) -> list[Shape]:
    return [Shape(spelling, kinds, tuple(marks)) for spelling, kinds, marks in json.loads(index.read_text())]


_opening = threading.Lock()  # two libraries at first use by two threads would be one too many: it goes, and its functions with it


@cache
def _library() -> _Library:
    return _Library()


def provide(shapes: Iterable[Shape]) -> dict[Shape, int]:
    """The address of the native function of each shape; valid for the life of the process."""
    with _opening:
        library = _library()
    return library.provide(shapes)
