"""How Numba compiles simtlab's functions: those that Python calls each with all they call as one program, and quickly."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba import types
from numba.core import compiler, sigutils
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.core.typing import make_concrete_template
from numba.np import arrayobj, linalg

from simtlab.compiling import CompilationLine
from simtlab.loading import loaded_alone

_settings: Any = numba.config
_line = CompilationLine()


def _import_array_functions() -> None:
    """Import those of Numba's without SciPy, which they load to see whether there is one: that takes as long as Numba itself.
    Code that needs its BLAS makes sure of it once more when it is compiled."""

    def look_for_scipy() -> None:
        if find_spec("scipy") is None:
            raise ImportError("scipy is required for linear algebra")

    kept, module = getattr(linalg, "ensure_blas", None), linalg
    if kept is None:
        return  # another Numba, which looks in another way
    module.ensure_blas = look_for_scipy
    try:
        from numba.np import arraymath
    finally:
        module.ensure_blas = kept
    arraymath.ensure_blas = kept


_import_array_functions()


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
def _collector_paused() -> Iterator[None]:
    """The compiler makes millions of objects and keeps most of them: Python's collector, which would go through them again and
    again, takes a tenth of its time. That memory goes to 1.1 GB instead of 0.7 while the machine is compiled matters less."""
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()


@contextmanager
def as_a_whole() -> Iterator[None]:
    """Optimise what Python or C calls together with all it calls as one program: as nobody else calls the parts, those called
    once can be dissolved, and arguments and results that say nothing go.

    All code in a process must be made so. The loader knows even internal functions by name, and gives a program whose parts
    are visible a part of that name which was loaded before: with arguments gone that nobody else passes.
    """
    library_class: Any = JITCodeLibrary
    kept = library_class._optimize_final_module

    def optimise(library: Any) -> None:
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage in (Linkage.linkonce_odr, Linkage.weak_odr):
                function.linkage = "internal"
        kept(library)

    library_class._optimize_final_module = optimise
    try:
        with _collector_paused(), loaded_alone():
            yield
    finally:
        library_class._optimize_final_module = kept


class _PartLibrary(JITCodeLibrary):
    """The code of one function, to be linked into that of its callers and optimised there, with all they call."""

    attributes: tuple[str, ...] = ()

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "weak_odr"  # which is linked whether or not what was linked before refers to it
                for attribute in self.attributes:
                    function.add_function_attribute(attribute)
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


class _PartPipeline(compiler.CompilerBase):
    """Numba's passes without those for what compiled code here does not have: closures, with blocks, array expressions, literals
    that decide on types."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("part")
        for one in (
            untyped.TranslateByteCode, untyped.FixupArgs, untyped.IRProcessing, untyped.RewriteSemanticConstants,
            untyped.GenericRewrites, untyped.ReconstructSSA, untyped.DeadBranchPrune, typed.NopythonTypeInference,
            typed.PreLowerStripPhis, typed.IRLegalization, typed.AnnotateTypes, typed.NativeLowering, typed.NoPythonBackend,
        ):  # fmt: skip
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


def _spell_once(kind: Any) -> None:
    """Have a Numba type keep its spelling: that of a record with nested tables is long, and Numba asks for it at every use."""
    spell = kind.__repr__

    def kept(self: Any) -> str:
        known = self.__dict__.get("_spelling")
        if known is None:
            known = self.__dict__["_spelling"] = spell(self)
        return known

    kind.__repr__ = kept


_spell_once(types.Record)
_spell_once(types.NestedArray)


class Dispatcher(CPUDispatcher):
    """A function that costs little to compile where another compiled one calls it.

    Numba makes of every function a separate executable, with a wrapper for Python, and keeps it on disk. Here only a
    function that Python calls is made so; one that is called from it becomes a part of its code and nothing else, in a
    fraction of the time.
    """

    _compiler: Any
    keep_in = ""  # the folder for what Python calls
    attributes: tuple[str, ...] = ()  # for LLVM: whether the code goes into that of its callers

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._parts: dict[tuple, Any] = {}
        self._target: Any = self.targetctx

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, _plain_indices(), as_a_whole(), _line:
            self._open_cache()
            return super().compile(sig)

    def _open_cache(self) -> None:
        """At first need: Numba tries out whether it can write there, and of 500 functions Python calls a few."""
        if self.keep_in:
            kept, _settings.CACHE_DIR = _settings.CACHE_DIR, self.keep_in
            try:
                self.enable_caching()
            finally:
                _settings.CACHE_DIR = kept
            self.keep_in = ""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Numba asks this when it meets a call of the function in another one."""
        signature, args = self._compiler.fold_argument_types(args, kws)
        args = tuple(types.unliteral(one) for one in args)  # the same code for all constants of a type
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
        library.attributes = self.attributes
        with global_compiler_lock, _plain_indices():
            contexts = self.typingctx, self.targetctx
            part = compiler.compile_extra(*contexts, self.py_func, args, None, flags, self.locals, library, _PartPipeline)
            _line.function_done()
        self.targetctx.insert_user_function((self, args, bool(_settings.BOUNDSCHECK)), part.fndesc, [part.library])
        return part

    def get_overload(self, sig: Any) -> Any:
        """What stands for the function where a call of it is written into another one's code."""
        args, _ = sigutils.normalize_signature(sig)
        checked = bool(_settings.BOUNDSCHECK)
        return (self, args, checked) if (args, checked) in self._parts else super().get_overload(sig)
