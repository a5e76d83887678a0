"""The compiler's one home: the decorator for compiled functions, and the few things that need the compiler's internals.

`NUMBA_DISABLE_JIT=1` runs the same code uncompiled, for a debugger and for tests: then the memory and call primitives
below go through ctypes.
"""

import ctypes
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from simtlab.dispatcher import Dispatcher
from simtlab.dispatcher import as_a_whole as as_a_whole
from simtlab.storage import cache_directory, digest_of_sources

_settings: Any = numba.config
UNCOMPILED = bool(_settings.DISABLE_JIT)
# Compiled functions take constants from these folders and from nowhere else; a test holds them to it.
FUNCTIONAL_SOURCES = ("compiled.py", "dispatcher.py", "execute", "program", "isa")
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
def checked_indices(wanted: bool = True) -> Iterator[None]:
    """Compile meanwhile so that an index beyond its table raises IndexError; parts compiled without that stay as they are."""
    kept = _settings.BOUNDSCHECK
    _settings.BOUNDSCHECK = int(wanted)
    try:
        yield
    finally:
        _settings.BOUNDSCHECK = kept


def compiled(function: Callable) -> Callable:
    """Compile a function to native code on first use, cached on disk under a digest of the sources."""
    if UNCOMPILED:
        return function
    functional = function.__module__.startswith(("simtlab.execute", "simtlab.host"))
    # The machine allocates nothing: without reference counts, passing an array on costs no atomic operation.
    counts = not function.__module__.startswith("simtlab.machine")
    options = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None, "_nrt": counts}
    made = Dispatcher(function, targetoptions=options)
    made.keep_in = _directory(FUNCTIONAL_SOURCES if functional else MACHINE_SOURCES)
    return made


def seldom(function: Callable) -> Callable:
    """Mark a compiled function that most runs never call: its code stays out of that of its callers, which is faster without."""
    if not UNCOMPILED:
        function.attributes = "noinline", "cold"  # type: ignore[attr-defined]
    return function


def dissolved(function: Callable) -> Callable:
    """Mark a compiled function whose code goes into that of each caller, as that of one with a single caller does by itself."""
    if not UNCOMPILED:
        function.attributes = ("alwaysinline",)  # type: ignore[attr-defined]
    return function


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
        return builder.atomic_rmw("add", place, args[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _load_acquire(typing, address):
    def generate(context, builder, signature, args):
        return builder.load_atomic(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def _store_release(typing, address, value):
    def generate(context, builder, signature, args):
        builder.store_atomic(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


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


# What tells a processor that its thread waits: the other thread of its core then has more of it.
_PAUSES = {"x86_64": ("llvm.x86.sse2.pause", []), "AMD64": ("llvm.x86.sse2.pause", []),
           "aarch64": ("llvm.aarch64.hint", [1]), "arm64": ("llvm.aarch64.hint", [1])}  # fmt: skip


@intrinsic
def _pause(typing):
    def generate(context, builder, signature, args):
        if platform.machine() in _PAUSES:
            name, numbers = _PAUSES[platform.machine()]
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(numbers))
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(function, [ir.Constant(ir.IntType(32), number) for number in numbers])
        return context.get_dummy_value()

    return types.void(), generate


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
load_acquire: Any
store_release: Any
count_ones: Any
count_trailing_zeros: Any
prefetch: Any
pause: Any

if UNCOMPILED:

    def count_ones(word):
        """Set bits of a 64-bit word."""
        return np.int64(int(word).bit_count())

    def count_trailing_zeros(word):
        """Zeros below the lowest set bit of a 64-bit word that is not zero."""
        return np.int64((int(word) & -int(word)).bit_length() - 1)

    def prefetch(array, index):
        """Have the host fetch the cache line of an array's element, which will be looked at some time later."""

    def pause():
        """Let the host's processor know that this thread waits."""

    def fetch_add(address, amount):
        """Add to a 64-bit number that several host threads share, and see what others wrote who did so; gives the old value."""
        place = ctypes.c_int64.from_address(int(address))
        place.value += int(amount)
        return np.int64(place.value - int(amount))

    def load_acquire(address):
        """A 64-bit number that another host thread writes: what that thread wrote before it is seen too."""
        return load_i64(address)

    def store_release(address, value):
        """Write a 64-bit number that other host threads wait for, after all that was written before."""
        store_i64(address, value)

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
    load_acquire, store_release, pause = _load_acquire, _store_release, _pause
    load_u8, load_u32 = _loader(types.uint8, 8), _loader(types.uint32, 32)
    load_i32, load_i64 = _loader(types.int32, 32), _loader(types.int64, 64)
    store_u8, store_u16 = _storer(types.uint8, 8), _storer(types.uint16, 16)
    store_u32, store_i64 = _storer(types.uint32, 32), _storer(types.int64, 64)
