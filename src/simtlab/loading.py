"""How compiled code comes back from disk. Numba makes ready to compile more each time; a process that finds all it needs does
without that, and starts in two thirds of the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding
from numba.core.caching import Cache
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import rtsys
from numba.np import numpy_support

MOST_DTYPES = 2000  # that are kept with their types; a process has about 120


class _LoadedLibrary(JITCodeLibrary):
    """Machine code from disk. The bitcode beside it, of which others could take a part, is four times as long, and is not parsed
    before one does."""

    bitcode = b""

    def get_pointer_to_function(self, name: str) -> int:
        """Numba looks first whether the bitcode defines the name. Here it is asked for entry points alone, which are there."""
        self._ensure_finalized()
        return self._codegen._engine.get_function_address(name)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = binding.parse_bitcode(self.bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


def _load_library(codegen: Any, state: Any) -> Any:
    name, kind, content = state
    if kind != "object":
        return _unserialize(codegen, state)
    library: Any = _LoadedLibrary(codegen, name)
    code, library.bitcode = content
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()
    return library


def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
    """Without the declarations of all that compiled code may call: whoever compiles loads them then."""
    rtsys.initialize(context)  # what code from disk calls
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)


_library_class: Any = JITCodeLibrary
_cache_class: Any = Cache
_unserialize = _library_class._unserialize


@contextmanager
def loaded_alone() -> Iterator[None]:
    """What is on disk is loaded meanwhile, and nothing else."""
    kept = _library_class.__dict__.get("_unserialize"), _cache_class.__dict__["load_overload"]
    _library_class._unserialize, _cache_class.load_overload = staticmethod(_load_library), _load_overload
    try:
        yield
    finally:
        if kept[0] is None:
            del _library_class._unserialize  # which it inherits
        else:
            _library_class._unserialize = kept[0]
        _cache_class.load_overload = kept[1]


def _convert_once() -> None:
    """Have Numba keep the type that it makes of a record's dtype. It makes those of all fields anew for each record they are in."""
    convert = numpy_support.from_struct_dtype
    known: dict[int, tuple[np.dtype, Any]] = {}  # by identity, as dtypes are equal whose alignment differs

    def kept(dtype: np.dtype) -> Any:
        found = known.get(id(dtype))
        if found is None:
            if len(known) >= MOST_DTYPES:
                known.clear()
            found = known[id(dtype)] = dtype, convert(dtype)
        return found[1]

    numpy_support.from_struct_dtype = kept


_convert_once()
