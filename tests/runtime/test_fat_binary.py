"""Fat binaries: which PTX is taken, and compressed ones."""

import pytest

from simtlab.errors import SimtlabError
from simtlab.runtime.fat_binary import ENTRY, HEADER, LZ4, MAGIC, lz4, ptx_of

PTX, ELF = 1, 2


def entry(kind: int, architecture: int, body: bytes, flags: int = 0, unpacked: int = 0) -> bytes:
    padded = body + b"\0" * (-len(body) % 8)
    packed = len(body) if flags else 0
    head = ENTRY.pack(kind, 0x101, ENTRY.size, len(padded), packed, 0, 0, 0, architecture, 0, 0, flags, 0, unpacked)
    return head + padded


def image(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return HEADER.pack(MAGIC, 1, HEADER.size, len(body)) + body


def test_ptx_by_itself_is_its_own_text():
    assert ptx_of(b".version 8.0\n\0junk") == ".version 8.0\n"


def test_the_newest_ptx_is_taken_and_machine_code_passed_over():
    made = image(entry(ELF, 90, b"\x7fELF"), entry(PTX, 75, b".version 1\0"), entry(PTX, 90, b".version 2\0"))
    assert ptx_of(made) == ".version 2"


def test_machine_code_alone_is_refused():
    with pytest.raises(SimtlabError, match="machine code alone: build it with `simtlab nvcc`"):
        ptx_of(image(entry(ELF, 90, b"\x7fELF")))
    with pytest.raises(SimtlabError, match="neither a fat binary nor PTX"):
        ptx_of(b"\x7fELF")


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (b"\x50hello", b"hello"),  # literals alone
        (b"\x33abc\x03\x00\x00", b"abcabcabca"),  # seven bytes from three back: it copies what it has just made
        (b"\x1fa\x01\x00\x05\x10z", b"a" + b"a" * 24 + b"z"),  # a length of more than 15 + 4
        (b"\xf0\x01" + b"0123456789abcdef", b"0123456789abcdef"),  # sixteen literals
    ],
)
def test_lz4(packed, text):
    assert lz4(packed, len(text)) == text


def test_packed_ptx():
    text = b".version 7.0\n" + b"ab" * 40
    packed = bytes([0xF0, len(text) - 15]) + text  # all of it as literals
    assert ptx_of(image(entry(PTX, 75, packed, LZ4, len(text)))) == text.decode()


def test_damage_is_told():
    with pytest.raises(SimtlabError, match="damaged"):
        lz4(b"\x10a\x09\x00\x00", 20)
