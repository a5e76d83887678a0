"""Damaged cubins are refused with a word on what is wrong, before anything runs; so are instructions that nobody knows."""

import copy
import random
import struct
from functools import cache

import pytest

import simtlab as sl
from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.sass import disassemble, link
from simtlab.frontend.sass.elf import Elf

SOURCE = r"""
#include <cstdio>
__device__ int counter = 5;
__device__ int *where = &counter;
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __global__ void k(int *out, int n) {
    __shared__ int s[32];
    s[threadIdx.x] = table[n & 3] + *where;
    __syncthreads();
    if (threadIdx.x == 3) printf("%d\n", n);
    out[threadIdx.x] = s[31 - threadIdx.x] + n / 3;
}"""
BATCH = 50


@cache
def cubin(architecture: str = "sm_90") -> bytes:
    return compile_cuda(SOURCE, "k.cu", (), (), (), architecture=architecture, count_registers=True).cubin


@cache
def places() -> list[list[tuple[int, int]]]:
    """Where the ELF header, the table of sections, and the sections of some kinds lie: offset and size."""
    (start,), (size, count) = struct.unpack_from("<Q", cubin(), 40), struct.unpack_from("<HH", cubin(), 58)
    offsets = [struct.unpack_from("<Q", cubin(), start + k * size + 24)[0] for k in range(count)]
    pieces = [(s.name, offset, s.size) for s, offset in zip(Elf(cubin()).sections, offsets, strict=True) if s.bytes]
    kinds = [[(offset, length) for name, offset, length in pieces if name.startswith(kind)]
             for kind in (".nv.info", ".text", ".symtab", ".rel", ".nv.constant")]  # fmt: skip
    return [[(0, 64)], [(start, size * count)], *kinds]


def mutant(number: int) -> bytes:
    chance = random.Random(number)
    if chance.random() < 0.15:
        return cubin()[: chance.randrange(len(cubin()))]
    content, kind = bytearray(cubin()), chance.choice(places())
    for _ in range(chance.choice((1, 1, 2, 5))):
        offset, size = chance.choice(kind)
        content[offset + chance.randrange(size)] = chance.choice((0, 1, 0x80, 0xFF, chance.randrange(256)))
    return bytes(content)


def built(content: bytes) -> str:
    """What is said of a cubin whose kernel is made ready to launch; nothing if nothing is wrong."""
    try:
        assert sl.Gpu(isa="sm_90", memory_bytes=1 << 20).load_cubin(content)["k"] is not None
    except sl.SimtlabError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("isa", ["ptx", "sm_75", "sm_90", "sm_120"])
def test_a_variable_that_holds_an_address_is_right_in_the_cubin_that_is_damaged_here(isa):
    gpu = sl.Gpu(isa=isa, memory_bytes=1 << 20)
    out = gpu.zeros(32, "i4")
    gpu.compile(SOURCE)["k"](1, 32, [out, 6])
    assert list(out) == [3 + 5 + 2] * 32


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_a_damaged_cubin_is_an_error_of_simtlab_or_none(first, monkeypatch):
    monkeypatch.setattr(disassemble, "SECONDS", 3)  # nvdisasm does not come back from some of them
    said = [built(mutant(number)) for number in range(first, first + BATCH)]
    assert len([one for one in said if one]) > BATCH // 4


def test_an_unknown_instruction_is_named_with_its_address_and_kernel(monkeypatch):
    listing = disassemble.listing

    def other(content):
        functions = copy.deepcopy(listing(content))
        for function in functions:
            function["sass-instructions"][2]["opcode"] = "QUUX.E"
        return functions

    monkeypatch.setattr(disassemble, "listing", other)
    assert "kernel 'k' has machine code that simtlab does not execute: 'QUUX.E" in built(cubin())
    assert "at 0x20" in built(cubin())


def test_without_nvdisasm_the_error_says_what_to_install(monkeypatch):
    disassemble.nvdisasm.cache_clear()
    monkeypatch.setattr(disassemble, "nvidia_files", lambda _: [])
    monkeypatch.setattr(disassemble.shutil, "which", lambda _: None)
    with pytest.raises(sl.SimtlabError, match="pip install nvidia-"):
        disassemble.nvdisasm()


def test_without_nvjitlink_the_error_says_what_to_install(monkeypatch):
    link.nvjitlink.cache_clear()
    monkeypatch.setattr(link, "nvidia_files", lambda _: [])
    with pytest.raises(sl.SimtlabError, match="pip install nvidia-"):
        link.nvjitlink()


def test_without_both_packages_ptx_works_as_before_and_machine_code_says_what_to_install(monkeypatch, tmp_path):
    for module in (disassemble, link):
        monkeypatch.setattr(module, "nvidia_files", lambda _: [])
        monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)  # which may have what the packages once gave
    monkeypatch.setattr(disassemble.shutil, "which", lambda _: None)
    for known in (disassemble.nvdisasm, disassemble.listing, link.nvjitlink):
        known.cache_clear()
    gpu = sl.Gpu(memory_bytes=1 << 20)
    out, module = gpu.zeros(32, "i4"), gpu.compile(SOURCE)
    module["k"](1, 32, [out, 6])
    assert list(out) == [3 + 5 + 2] * 32
    machine_code = sl.Gpu(isa="sm_90", memory_bytes=1 << 20)
    with pytest.raises(sl.SimtlabError, match="pip install nvidia-cuda-nvdisasm"):
        machine_code.compile(SOURCE)["k"]
    with pytest.raises(sl.SimtlabError, match="pip install nvidia-nvjitlink"):
        machine_code.load(module.ptx)


def test_the_second_compilation_of_a_source_disassembles_nothing(monkeypatch):
    assert built(cubin()) == ""
    monkeypatch.setattr(disassemble, "disassembled", lambda _: pytest.fail("nvdisasm ran again"))
    assert built(cubin()) == ""
