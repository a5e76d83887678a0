"""Conversions of printf: each as the C library of this machine prints it."""

import ctypes
import itertools
import platform
import random
import struct

import pytest

from simtlab.errors import DeviceFault
from simtlab.host.printf import DIRECTIVE, MOST_FIELD, format_printf

FLAGS = ["".join(flags) for count in range(6) for flags in itertools.combinations("-+ #0", count)]
WIDTHS, PRECISIONS = ["", "1", "8", "20"], ["", ".", ".0", ".1", ".3", ".12"]
CONVERSIONS = random.Random(0).sample(list(itertools.product(FLAGS, WIDTHS, PRECISIONS)), 160)
LIBC = ctypes.CDLL(None)
INTEGERS = [0, 1, 7, 8, 255, 4096, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0xABCDEF0123]
FLOATS = [0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1e-5, 123456.789, 1e20, -1e-300, 5e-324, 2.0**-1022, 1.9999999, 0.03125,
          float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, 0.99951171875, 3.0]  # fmt: skip
needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="rounding and names of %a, nan and (nil) are glibc's")


class Memory:
    """A frame that has nothing but packed arguments and one string."""

    def __init__(self, raw: bytes, string: str = ""):
        self.raw, self.string = raw, string

    def read(self, address, size):
        return self.raw[:size]

    def read_string(self, address):
        return self.string


def ours(template, raw, string=""):
    return format_printf(template, Memory(raw, string), 1)


def by_libc(template, value):
    room = ctypes.create_string_buffer(2048)
    size = LIBC.snprintf(room, ctypes.c_size_t(2048), template.encode(), value)
    return room.raw[:size].decode()


@needs_glibc
@pytest.mark.parametrize("kind", "diuoxX")
@pytest.mark.parametrize("length", ["", "h", "hh", "l", "ll"])
def test_integers_are_as_the_c_library_prints_them(kind, length):
    for flags, width, precision in CONVERSIONS:
        template = f"%{flags}{width}{precision}{length}{kind}"
        for value in INTEGERS:
            raw = struct.pack("<Q" if "l" in length else "<I", value if "l" in length else value & 0xFFFFFFFF)
            passed = ctypes.c_uint64(value) if "l" in length else ctypes.c_uint32(value & 0xFFFFFFFF)
            assert ours(template, raw) == (by_libc(template, passed), 1), (template, value)


@needs_glibc
@pytest.mark.parametrize("kind", "fFeEgGaA")
def test_floating_point_numbers_are_as_the_c_library_prints_them(kind):
    chance = random.Random(1)
    values = [*FLOATS, *(chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30) for _ in range(10))]
    for flags, width, precision in CONVERSIONS:
        template = f"%{flags}{width}{precision}{kind}"
        for value in values:
            expected = by_libc(template, ctypes.c_double(value))
            assert ours(template, struct.pack("<d", value)) == (expected, 1), (template, value)


@needs_glibc
@pytest.mark.parametrize("text", ["", "a", "some text"])
def test_strings_and_characters_are_as_the_c_library_prints_them(text):
    for flags, width, precision in itertools.product(["", "-"], WIDTHS, PRECISIONS):
        template = f"%{flags}{width}{precision}s"
        assert ours(template, bytes(8), text)[0] == by_libc(template, ctypes.c_char_p(text.encode())), template
    assert ours("%5c|%-3c|", struct.pack("<ii", 65, 66))[0] == "    A|B  |"


def test_a_star_takes_width_and_precision_from_the_arguments():
    assert ours("%*.*d|", struct.pack("<iii", 8, 3, 42))[0] == "     042|"
    assert ours("%*d|", struct.pack("<ii", -8, 42))[0] == "42      |"
    assert ours("%.*d|", struct.pack("<ii", -1, 42))[0] == "42|"


def test_n_takes_its_pointer_and_writes_nothing():
    assert ours("a%nb%d", struct.pack("<Qi", 4096, 7)) == ("ab7", 2)


@pytest.mark.parametrize("template", ["%999999999d", "%.2147483647f", "%*s", "%.*x", "%99999999999999999999999d"])
def test_a_field_of_absurd_width_is_an_error_that_says_so(template):
    with pytest.raises(DeviceFault, match=rf"asks for a field of \d+ characters; at most {MOST_FIELD} are possible"):
        ours(template, struct.pack("<iiq", 2**31 - 1, 2**31 - 1, 0))


def test_a_directive_that_c_does_not_know_is_printed_as_it_is():
    assert ours("%k %", b"") == ("%k %", 0)
    assert DIRECTIVE.search("%k %") is None
