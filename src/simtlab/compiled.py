"""The compiler's one home: the decorator for compiled functions, and the few things that need the compiler's internals.

`NUMBA_DISABLE_JIT=1` runs the same code uncompiled, for a debugger and for tests: then the memory and call primitives
below go through ctypes.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from llvmlite.binding import Linkage
from numba import types
from numba.core import cgutils, compiler, sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typing import make_concrete_template
from numba.extending import intrinsic
from numba.np import arrayobj

from simtlab.storage import cache_directory, digest_of_sources

_settings: Any = numba.config
UNCOMPILED = bool(_settings.DISABLE_JIT)
# Compiled functions take constants from these folders and from nowhere else; a test holds them to it.
FUNCTIONAL_SOURCES = ("compiled.py", "execute", "program", "isa")
MACHINE_SOURCES = (*FUNCTIONAL_SOURCES, "machine", "policies/hook.py")


@cache
def _directory(sources: tuple[str, ...]) -> str:
    return os.fspath(cache_directory() / f"numba-{digest_of_sources(*sources, also=numba.__version__)}")


@contextmanager
def cache_in(folder: str | os.PathLike) -> Iterator[None]:
    """Where functions made compilable meanwhile are kept on disk; the user's own setting stays as it is."""
    kept = _settings.CACHE_DIR
    _settings.CACHE_DIR = os.fspath(folder)
    try:
        yield
    finally:
        _settings.CACHE_DIR = kept


@contextmanager
def _plain_indices() -> Iterator[None]:
    """Compile indices as they are. Python counts a negative one from the end, and Numba asks that at every access; simtlab's own
    code has none, and is an eighth faster without the question."""

    def index(context: Any, builder: Any, type: Any, value: Any, size: Any) -> Any:
        return context.cast(builder, value, type, types.intp if type.signed else types.uintp)

    kept = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = index
    try:
        yield
    finally:
        arrayobj.fix_integer_index = kept


@contextmanager
def checked_indices(wanted: bool = True) -> Iterator[None]:
    """Compile meanwhile so that an index beyond its table raises IndexError; parts compiled without that stay as they are."""
    kept = _settings.BOUNDSCHECK
    _settings.BOUNDSCHECK = int(wanted)
    try:
        yield
    finally:
        _settings.BOUNDSCHECK = kept


@contextmanager
def _as_a_whole() -> Iterator[None]:
    """Optimise what Python calls together with all it calls as one program: as nobody else calls the parts, those called once
    can be dissolved, and arguments and results that say nothing go."""
    library_class: Any = JITCodeLibrary
    kept = library_class._optimize_final_module

    def optimise(library: Any) -> None:
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        kept(library)

    library_class._optimize_final_module = optimise
    try:
        yield
    finally:
        library_class._optimize_final_module = kept


class _PartLibrary(JITCodeLibrary):
    """The code of one function, to be linked into that of its callers and optimised there, with all they call."""

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Its code and that of all it calls, for a caller that Python calls."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            for library in _called_from(self):
                module = library._final_module if isinstance(library, _PartLibrary) else library._get_module_for_linking()
                self._shared_module.link_in(module, preserve=True)
        return self._shared_module


def _called_from(library: Any) -> list[Any]:
    """The libraries that one needs, directly or not."""
    found: dict[Any, None] = {}
    left = list(library._linking_libraries)
    while left:
        one = left.pop()
        if one not in found:
            found[one] = None
            left += one._linking_libraries if isinstance(one, _PartLibrary) else []
    return list(found)


class _Compiled(CPUDispatcher):
    """A function that costs little to compile where another compiled one calls it.

    Numba makes of every function a separate executable, with a wrapper for Python, and keeps it on disk. Here only a
    function that Python calls is made so; one that is called from it becomes a part of its code and nothing else, in a
    fraction of the time.
    """

    _compiler: Any

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._parts: dict[tuple, Any] = {}
        self._target: Any = self.targetctx

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, _plain_indices(), _as_a_whole():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Numba asks this when it meets a call of the function in another one."""
        signature, args = self._compiler.fold_argument_types(args, kws)
        key = args, bool(_settings.BOUNDSCHECK)
        if key not in self._parts:
            self._parts[key] = self._compile_part(args)
        signatures = [part.signature for part in self._parts.values()]
        return make_concrete_template(self.py_func.__name__, self.py_func.__name__, signatures), signature, args, {}

    def _compile_part(self, args: tuple) -> Any:
        flags: Any = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = _PartLibrary(self._target.codegen(), self.py_func.__qualname__)
        with global_compiler_lock, _plain_indices():
            part = compiler.compile_extra(self.typingctx, self.targetctx, self.py_func, args, None, flags, self.locals, library)
        self.targetctx.insert_user_function((self, args, bool(_settings.BOUNDSCHECK)), part.fndesc, [part.library])
        return part

    def get_overload(self, sig: Any) -> Any:
        """What stands for the function where a call of it is written into another one's code."""
        args, _ = sigutils.normalize_signature(sig)
        checked = bool(_settings.BOUNDSCHECK)
        return (self, args, checked) if (args, checked) in self._parts else super().get_overload(sig)


def compiled(function: Callable) -> Callable:
    """Compile a function to native code on first use, cached on disk under a digest of the sources."""
    if UNCOMPILED:
        return function
    functional = function.__module__.startswith(("simtlab.execute", "simtlab.host"))
    with cache_in(_directory(FUNCTIONAL_SOURCES if functional else MACHINE_SOURCES)):
        # The machine allocates nothing: without reference counts, passing an array on costs no atomic operation.
        counts = not function.__module__.startswith("simtlab.machine")
        options = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None, "_nrt": counts}
        made = _Compiled(function, targetoptions=options)
        made.enable_caching()
        return made


_OPERATION = ir.FunctionType(
    ir.IntType(32), [ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64).as_pointer(), ir.IntType(8).as_pointer()]
)
_OPERATION_C = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)


@intrinsic
def _call_operation(typing, function, registers, mask, operands, context):
    signature = types.uint32(types.int64, types.int64, types.uint32, types.int64, types.int64)

    def generate(context, builder, signature, args):
        target = builder.inttoptr(args[0], _OPERATION.as_pointer())
        expected = _OPERATION.args
        given = [builder.inttoptr(a, t) if isinstance(t, ir.PointerType) else a
                 for a, t in zip(args[1:], expected, strict=True)]  # fmt: skip
        return builder.call(target, given)

    return signature, generate


def _loader(numba_type: Any, width: int) -> Any:
    @intrinsic
    def load(typing, address):
        def generate(context, builder, signature, args):
            return builder.load(builder.inttoptr(args[0], ir.IntType(width).as_pointer()), align=1)

        return numba_type(types.int64), generate

    return load


def _storer(numba_type: Any, width: int) -> Any:
    @intrinsic
    def store(typing, address, value):
        def generate(context, builder, signature, args):
            builder.store(args[1], builder.inttoptr(args[0], ir.IntType(width).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, numba_type), generate

    return store


@intrinsic
def _fetch_add(typing, address, amount):
    def generate(context, builder, signature, args):
        place = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", place, args[1], "monotonic")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _count_ones(typing, word):
    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@intrinsic
def _count_trailing_zeros(typing, word):
    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


_PREFETCH = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])


@intrinsic
def _prefetch(typing, array, index):
    def generate(context, builder, signature, args):
        data = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), _PREFETCH.args[0])
        function = cgutils.get_or_insert_function(builder.module, _PREFETCH, "llvm.prefetch.p0i8")
        builder.call(function, [place, *(ir.Constant(ir.IntType(32), number) for number in (1, 3, 1))])  # to write; keep; data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


_HOOK = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * 4)
HOOK_C = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int64)


@intrinsic
def _call_hook(typing, function, unit, own, argument, cycle):
    def generate(context, builder, signature, args):
        return builder.call(builder.inttoptr(args[0], _HOOK.as_pointer()), args[1:])

    return types.int64(types.int64, types.int64, types.int64, types.uint64, types.int64), generate


@intrinsic
def _call_and_catch(typing, function, unit, own, argument, cycle):
    """Call a compiled hook: the address of what is known of the exception it raised, or 0, and its answer (0 for none)."""
    called = function.get_call_type(typing, (unit, own, argument, cycle), {})

    def generate(context, builder, signature, args):
        found = function.dispatcher.get_compile_result(called)
        context.add_linking_libs([found.library])
        status, answer = context.call_internal_no_propagate(builder, found.fndesc, called, args[1:])
        nothing = ir.Constant(ir.IntType(64), 0)
        raised = builder.select(status.is_error, builder.ptrtoint(status.excinfoptr, ir.IntType(64)), nothing)
        is_none = isinstance(called.return_type, types.NoneType)
        number = nothing if is_none else context.cast(builder, answer, called.return_type, types.int64)
        return context.make_tuple(builder, signature.return_type, [raised, number])

    return types.UniTuple(types.int64, 2)(function, unit, own, argument, cycle), generate


def record_at(address: int, dtype: np.dtype) -> Any:
    """The record of that dtype at a host address, uncompiled."""
    memory: Any = (ctypes.c_uint8 * dtype.itemsize).from_address(int(address))
    return np.frombuffer(memory, dtype).view(np.recarray)[0]


def reader_of(dtype: np.dtype) -> Any:
    """A function for compiled code that gives the record of that dtype at a host address."""
    if UNCOMPILED:
        return lambda address: record_at(address, dtype)
    record = numba.from_dtype(dtype)

    @intrinsic
    def at(typing, address):
        def generate(context, builder, signature, args):
            return builder.inttoptr(args[0], context.get_value_type(record))

        return record(types.int64), generate

    return at


call_hook: Any
call_operation: Any
call_and_catch: Any
fetch_add: Any
count_ones: Any
count_trailing_zeros: Any
prefetch: Any

if UNCOMPILED:

    def count_ones(word):
        """Set bits of a 64-bit word."""
        return np.int64(int(word).bit_count())

    def count_trailing_zeros(word):
        """Zeros below the lowest set bit of a 64-bit word that is not zero."""
        return np.int64((int(word) & -int(word)).bit_length() - 1)

    def prefetch(array, index):
        """Have the host fetch the cache line of an array's element, which will be looked at some time later."""

    def fetch_add(address, amount):
        """Add to a 64-bit number that several host threads share; gives the old value."""
        place = ctypes.c_int64.from_address(int(address))
        place.value += int(amount)
        return np.int64(place.value - int(amount))

    def call_hook(function, unit, own, argument, cycle):
        """Call a policy's hook: addresses of the unit's record and of the policy's own, one argument, the cycle."""
        return np.int64(HOOK_C(int(function))(int(unit), int(own), int(argument), int(cycle)))

    def call_operation(function, registers, mask, operands, context):
        return np.uint32(_OPERATION_C(int(function))(int(registers), int(mask), int(operands), int(context)))

    def load_u32(address):
        return np.uint32(ctypes.c_uint32.from_address(int(address)).value)

    def load_i32(address):
        return np.int32(ctypes.c_int32.from_address(int(address)).value)

    def load_i64(address):
        return np.int64(ctypes.c_int64.from_address(int(address)).value)

    def load_u8(address):
        return np.uint8(ctypes.c_uint8.from_address(int(address)).value)

    def store_u8(address, value):
        ctypes.c_uint8.from_address(int(address)).value = int(value)

    def store_u16(address, value):
        ctypes.c_uint16.from_address(int(address)).value = int(value)

    def store_u32(address, value):
        ctypes.c_uint32.from_address(int(address)).value = int(value)

    def store_i64(address, value):
        ctypes.c_int64.from_address(int(address)).value = int(value)

else:
    call_operation, fetch_add, call_hook, call_and_catch = _call_operation, _fetch_add, _call_hook, _call_and_catch
    count_ones, count_trailing_zeros, prefetch = _count_ones, _count_trailing_zeros, _prefetch
    load_u8, load_u32 = _loader(types.uint8, 8), _loader(types.uint32, 32)
    load_i32, load_i64 = _loader(types.int32, 32), _loader(types.int64, 64)
    store_u8, store_u16 = _storer(types.uint8, 8), _storer(types.uint16, 16)
    store_u32, store_i64 = _storer(types.uint32, 32), _storer(types.int64, 64)
