"""Link PTX by nvJitLink, in a process of its own: it ends its process where something goes wrong inside it.

python link_child.py LIBRARY NAME OPTION... <PTX >CUBIN; what is wrong with the PTX goes to stderr, with exit status 1.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import NoReturn

SUCCESS, PTX_INPUT = 0, 2


def function(library: ctypes.CDLL, name: str) -> Callable[..., int]:
    """A function of the library; its names carry the version of the interface."""
    names = [f"__nvJitLink{name}_{major}_{minor}" for major in (13, 12) for minor in range(12, -1, -1)]
    found = next((getattr(library, one) for one in (f"nvJitLink{name}", *names) if hasattr(library, one)), None)
    return found or refuse(f"this nvJitLink has no function nvJitLink{name}")


def refuse(problem: str) -> NoReturn:
    sys.stderr.write(problem)
    sys.exit(1)


def main(path: str, name: str, *options: str) -> None:
    library = ctypes.CDLL(path)
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    if function(library, "Create")(ctypes.byref(handle), len(options), given) != SUCCESS:
        refuse(f"nvJitLink does not take {' '.join(options)}")
    text = sys.stdin.buffer.read()
    added = function(library, "AddData")(handle, PTX_INPUT, text, ctypes.c_size_t(len(text)), name.encode())
    if added != SUCCESS or function(library, "Complete")(handle) != SUCCESS:
        refuse(error_log(library, handle) or "nvJitLink refuses it")
    status = function(library, "GetLinkedCubinSize")(handle, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    status = status or function(library, "GetLinkedCubin")(handle, buffer)
    if status != SUCCESS:
        refuse(f"nvJitLink: error {status}")
    sys.stdout.buffer.write(buffer.raw)


def error_log(library: ctypes.CDLL, handle: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    if function(library, "GetErrorLogSize")(handle, ctypes.byref(size)) != SUCCESS or not size.value:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    function(library, "GetErrorLog")(handle, buffer)
    return buffer.value.decode("utf-8", "replace").strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
