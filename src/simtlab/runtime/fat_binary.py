"""Fat binaries, in which nvcc puts a program's PTX and machine code: finding the PTX, and unpacking it where it is compressed."""

import struct
from importlib import import_module

from simtlab.errors import SimtlabError

MAGIC = 0xBA55ED50
HEADER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")  # kind … see `entries`
PTX = 1
LZ4, ZSTD = 0x2000, 0x8000  # flags of an entry


def ptx_of(image: bytes) -> str:
    """The PTX text of a module: of a fat binary the one for the newest architecture, else the image itself."""
    if int.from_bytes(image[:4], "little") != MAGIC:
        if b".version" not in image:
            raise SimtlabError("this module is neither a fat binary nor PTX: simtlab runs PTX, as `simtlab nvcc` puts it in")
        return _text(image)
    found = sorted(_ptx_entries(image))
    if not found:
        raise SimtlabError("the program has machine code alone: build it with `simtlab nvcc`, or with PTX (nvcc -arch=compute_75)")
    return found[-1][1]


def _ptx_entries(image: bytes) -> list[tuple[int, str]]:
    """Architecture and text of each PTX entry."""
    _, _, at, total = HEADER.unpack_from(image)
    end, found = at + total, []
    while at + ENTRY.size <= end:
        kind, _, header, size, packed, _, _, _, architecture, _, _, flags, _, unpacked = ENTRY.unpack_from(image, at)
        if kind == PTX:
            body = image[at + header : at + header + size]
            found.append((architecture, _text(_unpacked(body, flags, packed, unpacked))))
        at += header + size
    return found


def _text(body: bytes) -> str:
    return body.split(b"\0", 1)[0].decode("utf-8", "replace")


def _unpacked(body: bytes, flags: int, packed: int, unpacked: int) -> bytes:
    if flags & LZ4:
        return lz4(body[: packed or len(body)], unpacked)
    return zstd(body[: packed or len(body)]) if flags & ZSTD else body


def lz4(packed: bytes, size: int) -> bytes:
    """An LZ4 block: runs of bytes as they are, each followed by a copy of some that came before."""
    out, at = bytearray(), 0

    def more(count: int) -> int:
        nonlocal at
        while count >= 15:
            count += packed[at]
            at += 1
            if packed[at - 1] != 255:
                break
        return count

    while at < len(packed) and len(out) < size:
        token = packed[at]
        at += 1
        literals = more(token >> 4)
        out += packed[at : at + literals]
        at += literals
        if at >= len(packed) or len(out) >= size:
            break
        distance = int.from_bytes(packed[at : at + 2], "little")
        at += 2
        length = more(token & 15) + 4
        if not 0 < distance <= len(out):
            raise SimtlabError("the program's compressed PTX is damaged")
        for _ in range(length):  # what is copied may begin before it is all there
            out.append(out[-distance])
    return bytes(out[:size])


def zstd(packed: bytes) -> bytes:
    """By Python's own module (from 3.14 on), or by the package `zstandard`."""
    for module, unpack in (("compression.zstd", "decompress"), ("zstandard", "decompress")):
        try:
            return getattr(import_module(module), unpack)(packed)
        except ImportError:
            continue
    raise SimtlabError("the program's PTX is packed with zstd, which this Python cannot unpack: `pip install zstandard`, or build "
                       "the program with `simtlab nvcc`, which does not pack")  # fmt: skip
