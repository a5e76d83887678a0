"""Machine code as nvdisasm reads it. What it says of a cubin is kept on disk: its start alone takes half a second."""

import hashlib
import json
import shutil
import subprocess
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.frontend.sass.cubin import INSTRUCTION_BYTES, Cubin
from simtlab.frontend.sass.text import SassInstruction, parse_instruction
from simtlab.storage import cache_directory, keep, nvidia_files

MISSING = (
    "machine code needs nvdisasm, which the package nvidia-cuda-nvdisasm has for Linux (pip install nvidia-cuda-nvdisasm). "
    "PTX works without it."
)
# nvdisasm takes 0.65 s and 0.1 s for every 100,000 bytes (the largest cubin of the workloads: 145,000 bytes, 0.75 s); with some
# damaged cubins it never ends.
SECONDS, BYTES_A_SECOND = 20, 100_000


class NoDisassembler(SimtlabError):
    """nvdisasm is not there, or does not take the cubin."""


@cache
def nvdisasm() -> str:
    """The newest of the Python packages', or the one on the PATH."""
    found = nvidia_files("*/bin/nvdisasm")
    chosen = str(found[-1]) if found else shutil.which("nvdisasm")
    if chosen is None:
        raise NoDisassembler(MISSING)
    return chosen


def instructions_of(cubin: Cubin, kernel: str) -> list[SassInstruction]:
    """A kernel's instructions, functions behind it included, in the order of their addresses."""
    image = cubin.kernel(kernel)
    words, inside = image.words, {function.name: function for function in image.functions}
    found: dict[int, SassInstruction] = {}
    for function in listing(cubin.content):
        name = function.get("function-name", "")
        if name not in inside:
            continue
        for k, one in enumerate(function["sass-instructions"]):
            address = inside[name].start + INSTRUCTION_BYTES * k
            number = address // INSTRUCTION_BYTES
            if number < len(words):
                found[address] = parse_instruction(
                    address, one["opcode"], one.get("operands", ""), one.get("predicate", ""), words[number], inside[name].section
                )
    if sorted(found) != list(range(0, INSTRUCTION_BYTES * len(words), INSTRUCTION_BYTES)):
        raise NoDisassembler(f"nvdisasm gave {len(found)} of the {len(words)} instructions of '{kernel}'")
    return [found[address] for address in sorted(found)]


@lru_cache(maxsize=4)
def listing(cubin: bytes) -> list[dict[str, Any]]:
    """The functions of a cubin, as nvdisasm's JSON has them; each of its kernels asks for them."""
    path = cache_directory() / "sass" / f"{hashlib.sha256(cubin).hexdigest()[:32]}.json"
    try:
        return checked(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):  # not there, or damaged: it is made anew
        pass
    functions = functions_in(disassembled(cubin))
    keep(path, json.dumps(functions).encode())
    return functions


def disassembled(cubin: bytes) -> bytes:
    """What nvdisasm prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        limit = SECONDS + len(cubin) / BYTES_A_SECOND
        try:
            done = subprocess.run([nvdisasm(), "-json", str(file)], capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            raise NoDisassembler(f"nvdisasm gave no answer in {limit:.0f} seconds: this cubin is damaged") from None
        except OSError as problem:
            raise NoDisassembler(f"nvdisasm did not run: {problem}") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise NoDisassembler(f"nvdisasm refuses this cubin: {said or f'exit status {done.returncode}'}")
    return done.stdout


def functions_in(answer: bytes) -> list[dict[str, Any]]:
    """The functions that nvdisasm's answer has code of."""
    try:
        _, functions = json.loads(answer)
        return checked([function for function in functions if "sass-instructions" in function])
    except (ValueError, TypeError, RecursionError):
        raise NoDisassembler("nvdisasm's answer is no JSON that simtlab knows; version 13.2 or later is needed") from None


def checked(functions: Any) -> list[dict[str, Any]]:
    """The same, if it is a list of functions with a name and instructions; ValueError if not."""

    def texts(one: Any, *keys: str) -> bool:
        return isinstance(one, dict) and all(isinstance(one.get(key, ""), str) for key in keys)

    def is_function(one: Any) -> bool:
        if not texts(one, "function-name") or not isinstance(one.get("sass-instructions"), list):
            return False
        return all(texts(i, "opcode", "operands", "predicate") and "opcode" in i for i in one["sass-instructions"])

    if not isinstance(functions, list) or not all(is_function(one) for one in functions):
        raise ValueError
    return functions
