"""Kernel arguments as text: `i32:1024`, `f32[64x64]=random`, `f32[]=x.npy`, `ptr:0`.

Problems are ValueErrors that end with an example of what would be right; the caller adds where the text stood.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simtlab.host.array import DeviceArray
    from simtlab.host.gpu import Gpu

TYPES = {
    **{f"i{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
}
NAMES = {dtype: name for name, dtype in TYPES.items()}
RANDOM_BELOW = 100  # random integers are 0 to 99, which fit every type and rarely overflow a sum
MOST_BYTES = 1 << 40
SIZE = re.compile(r"\d+([x,]\d+)*")
EXAMPLES = "for example i32:1024, f32:2.5, f32[1024]=random or ptr:0"
ARRAY_EXAMPLES = "for example f32[1024]=random, i32[64x64]=zeros or f32[]=x.npy"


@dataclass(frozen=True)
class ArrayText:
    """An array to be made: its type, its shape and what it holds at first."""

    dtype: np.dtype
    shape: tuple[int, ...]
    initial: str
    path: Path | None = None  # of the .npy file it is read from

    def place(self, gpu: "Gpu", label: str, seed: tuple[int, int]) -> "DeviceArray":
        """Make the array in device memory."""
        if self.initial == "zeros":
            return gpu.zeros(self.shape, self.dtype, label)
        array = gpu.empty(self.shape, self.dtype, label)
        array[...] = self.values(seed)
        return array

    def values(self, seed: tuple[int, int]) -> np.ndarray:
        count = math.prod(self.shape)
        if self.path is not None:
            return open_npy(self.path)
        if self.initial == "random":
            return _random(self.dtype, count, seed).reshape(self.shape)
        if self.initial == "arange":
            return np.arange(count).astype(self.dtype).reshape(self.shape)
        if self.initial in ("zeros", "ones"):
            return np.full(self.shape, int(self.initial == "ones"), self.dtype)
        return np.full(self.shape, number(NAMES[self.dtype], self.initial), self.dtype)


def _random(dtype: np.dtype, count: int, seed: tuple[int, int]) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype == np.float16:
        return (generator.integers(0, 2048, count) / 2048).astype(dtype)  # f32 rounded to f16 could be 1
    if dtype == np.float32:
        return generator.random(count, np.float32)
    if dtype == np.float64:
        return generator.random(count)
    return generator.integers(0, RANDOM_BELOW, count).astype(dtype)


def parse_size(text: str) -> tuple[int, ...]:
    """A grid, block or shape: `4096`, `64x64`, `8,8,4`."""
    compact = text.replace(" ", "")
    if not SIZE.fullmatch(compact):
        raise ValueError(f"'{text}' is no size; for example 4096, 64x64 or 8,8,4")
    return tuple(int(part) for part in re.split("[x,]", compact))


def parse_value(text: str, folder: Path) -> np.generic | ArrayText:
    """A scalar or an array. A file's name is relative to `folder`."""
    array = re.fullmatch(r"(\w*)\[([^\]]*)\](?:=(.*))?", text.strip(), re.DOTALL)
    if array:
        return parse_array(array[1], array[2], array[3], folder)
    type, colon, value = text.strip().partition(":")
    if not colon:
        raise ValueError(f"it has no type; {EXAMPLES}")
    if type == "ptr":
        if value not in ("0", "0x0"):
            raise ValueError("the only pointer to write is ptr:0; an array is for example f32[1024]=zeros")
        return np.uint64(0)
    _check_type(type, EXAMPLES)
    return number(type, value)


def parse_array(type: str, shape_text: str, initial: str | None, folder: Path) -> ArrayText:
    _check_type(type, ARRAY_EXAMPLES)
    dtype = TYPES[type]
    if not initial:
        raise ValueError(f"it does not say what the array holds; {ARRAY_EXAMPLES}")
    shape = parse_size(shape_text) if shape_text.strip() else ()
    if initial.endswith(".npy"):
        return _from_file(dtype, shape, folder / initial)
    if not shape:
        raise ValueError(f"only an array from a file can leave out its shape; {ARRAY_EXAMPLES}")
    if 0 in shape:
        raise ValueError(f"an array needs at least one element; {ARRAY_EXAMPLES}")
    if math.prod(shape) * dtype.itemsize > MOST_BYTES:
        raise ValueError(f"{math.prod(shape) * dtype.itemsize} bytes are more than a device has; {ARRAY_EXAMPLES}")
    if initial not in ("random", "zeros", "ones", "arange"):
        try:
            number(type, initial)
        except ValueError as problem:
            choices = "random, zeros, ones, arange, a number or a file x.npy"
            raise ValueError(f"an array holds {choices} at first ({problem})") from None
    return ArrayText(dtype, shape, initial)


def _from_file(dtype: np.dtype, shape: tuple[int, ...], path: Path) -> ArrayText:
    values = open_npy(path)
    if values.dtype != dtype:
        held = NAMES.get(values.dtype, str(values.dtype))
        raise ValueError(f"{path} holds {held}, not {NAMES[dtype]}; for example {held}[]={path.name}")
    if shape and shape != values.shape:
        raise ValueError(f"{path} has the shape {_times(values.shape)}, not {_times(shape)}; "
                         f"for example {NAMES[dtype]}[]={path.name}")  # fmt: skip
    return ArrayText(dtype, values.shape, "file", path)


def open_npy(path: Path) -> np.ndarray:
    """The array in a .npy file, read as it is used."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError) as problem:
        raise ValueError(f"{path} is no .npy file with numbers in it: {problem}") from None


def number(type: str, text: str) -> np.generic:
    """A number of one of the types; integers also in hexadecimal, floats also inf and nan."""
    dtype = TYPES[type]
    if dtype.kind == "f":
        try:
            value = float(text)
        except ValueError:
            raise ValueError(f"'{text}' is no number; for example {type}:2.5, {type}:-1e-3 or {type}:inf") from None
        with np.errstate(over="ignore"):
            result = dtype.type(value)
        if math.isinf(result) and not math.isinf(value):
            raise ValueError(f"{text} does not fit in {type}, which ends at {np.finfo(dtype).max:g}; for example {type}:2.5")
        return result
    if not re.fullmatch(r"\s*[+-]?(0[xX][0-9a-fA-F]+|\d+)\s*", text):
        raise ValueError(f"'{text}' is no integer; for example {type}:42 or {type}:0x2a")
    whole = int(text, 16 if "x" in text.lower() else 10)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not low <= whole <= high:
        raise ValueError(f"{text} does not fit in {type}, which runs from {low} to {high}; for example {type}:42")
    return dtype.type(whole)


def _check_type(type: str, examples: str) -> None:
    if type not in TYPES:
        raise ValueError(f"'{type}' is no type; the types are {', '.join(TYPES)}; {examples}")


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def type_and_shape(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    """As it is written on the command line: `f32[64x64]`."""
    return f"{NAMES[dtype]}[{_times(shape)}]"
