"""Shuffles, votes, matches and reductions as an H200 did them: the kernels, their cases, and what was recorded.

A case is one warp: four words for each lane (value, step, bounds, membermask) and the mask of the lanes that take part. The
others wait where the paths meet (`join`) or have ended (`gone`); the membermask may name them.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

RECORDED = Path(__file__).parents[1] / "data" / "hardware" / "warp_operations.npz"
FULL = 0xFFFFFFFF
LITERALS = {"full": FULL, "low": 0xFFFF, "odd": 0xAAAAAAAA}
OUTSIDE_KERNELS = ("shfl_idx", "shfl_down", "vote_all", "vote_ballot", "match_any_b32", "match_all_b32", "redux_add_u32", "elect",
                   "syncwarp")  # fmt: skip

PREAMBLE = r"""
#define LANE \
    uint4 in = given[blockIdx.x * 32 + threadIdx.x]; \
    bool here = active[blockIdx.x] >> threadIdx.x & 1; \
    unsigned d = 0xdddddddd, p = 0xeeeeeeee;
#define STORE out[blockIdx.x * 32 + threadIdx.x] = make_uint2(d, p);
#define OPERATE(TEXT, VALUE) asm volatile("{ .reg .pred q, r; .reg .b64 w; " TEXT " }" \
    : "+r"(d), "+r"(p) : "r"(VALUE), "r"(in.y), "r"(in.z), "r"(in.w));
#define KERNEL(NAME) extern "C" __global__ void NAME(const uint4 *given, const unsigned *active, uint2 *out)
#define JOIN_AND_GONE(NAME, TEXT) \
    KERNEL(NAME##_join) { LANE if (here) { OPERATE(TEXT, in.x) } STORE } \
    KERNEL(NAME##_gone) { LANE if (!here) return; OPERATE(TEXT, in.x) STORE }
#define BOTH_SIDES(NAME, TEXT) \
    KERNEL(NAME##_both) { LANE if (here) { OPERATE(TEXT, in.x) } else { OPERATE(TEXT, ~in.x) } STORE }
"""
REDUCTION = r"""
extern "C" __global__ void reduction_tail(const uint4 *given, const unsigned *active, uint2 *out)
{
    int t = threadIdx.x, i = blockIdx.x * 32 + t, sum = given[i].x;
    if (t < 8)
        for (int by = 16; by; by /= 2) sum += __shfl_down_sync(0xffffffff, sum, by);
    out[i] = make_uint2(sum, __activemask());
}
"""


def texts() -> dict[str, str]:
    """Each operation in PTX: %0 and %1 are its results, %2 %3 %4 value, step and bounds, MASK the membermask."""
    found = {}
    for mode in ("up", "down", "bfly", "idx"):
        found[f"shfl_{mode}"] = f"shfl.sync.{mode}.b32 %0|q, %2, %3, %4, MASK; selp.u32 %1, 1, 0, q;"
    for mode in ("all", "any", "uni"):
        found[f"vote_{mode}"] = f"setp.lt.s32 q, %2, 0; vote.sync.{mode}.pred r, q, MASK; selp.u32 %0, 1, 0, r;"
    found["vote_ballot"] = "setp.lt.s32 q, %2, 0; vote.sync.ballot.b32 %0, q, MASK;"
    found["match_any_b32"] = "match.any.sync.b32 %0, %2, MASK;"
    found["match_any_b64"] = "mov.b64 w, {%2, %4}; match.any.sync.b64 %0, w, MASK;"
    found["match_all_b32"] = "match.all.sync.b32 %0|q, %2, MASK; selp.u32 %1, 1, 0, q;"
    found["match_all_b64"] = "mov.b64 w, {%2, %4}; match.all.sync.b64 %0|q, w, MASK; selp.u32 %1, 1, 0, q;"
    for name in ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"):
        found[f"redux_{name.replace('.', '_')}"] = f"redux.sync.{name} %0, %2, MASK;"
    found["elect"] = "elect.sync %0|q, MASK; selp.u32 %1, 1, 0, q;"
    found["activemask"] = "activemask.b32 %0;"
    found["syncwarp"] = "bar.warp.sync MASK; activemask.b32 %0;"
    return found


def source() -> str:
    """All kernels: each operation with a membermask from a register, and again with each literal one."""
    lines = [PREAMBLE, REDUCTION]
    for name, text in texts().items():
        lines.append(f'JOIN_AND_GONE({name}, "{text.replace("MASK", "%5")}")')
        lines.append(f'BOTH_SIDES({name}, "{text.replace("MASK", "%5")}")')
        if "MASK" in text:
            for literal, mask in LITERALS.items():
                lines.append(f'JOIN_AND_GONE({name}_{literal}, "{text.replace("MASK", f"{mask:#x}")}")')
    return "\n".join(lines) + "\n"


def kernels() -> list[str]:
    """Their names."""
    names = ["reduction_tail"]
    for name, text in texts().items():
        variants = [name, *(f"{name}_{literal}" for literal in LITERALS)] if "MASK" in text else [name]
        names += [f"{variant}_{how}" for variant in variants for how in ("join", "gone")] + [f"{name}_both"]
    return names


def cases_of(kernel: str, given: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cases that a kernel runs: all of them for shuffles, fewer for the rest; a literal mask names every lane there is."""
    count = len(active) if kernel.startswith("shfl") else len(active) // 3
    given, active = given[:count].copy(), active[:count].copy()
    for literal, mask in LITERALS.items():
        if f"_{literal}_" in kernel:
            active &= np.uint32(mask)
            active[active == 0] = mask
    if kernel.endswith("_both"):  # either side must find its own lanes named
        given[..., 3] = FULL
    return given, active


# The cases ------------------------------------------------------------------------------------------------------------


def make_cases(count: int, seed: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Words for each lane and masks of active lanes, in every mixture; each active lane is named in its own membermask."""
    rng = np.random.default_rng(seed)
    given = rng.integers(0, 1 << 32, (count, 32, 4), np.uint32)
    active = np.zeros(count, np.uint32)
    for k in range(count):
        active[k] = choose_active(rng, k)
        if k % 3 == 0:
            given[k, :, 0] = rng.choice(np.array([5, 7, 0x80000000], np.uint32), 32, p=[0.8, 0.1, 0.1])
            given[k, :, 2] = 9
        if k % 7 == 0:
            given[k, :, 0] = given[k, 0, 0]
        if k % 4:
            width = 1 << int(rng.integers(0, 6))
            given[k, :, 1] = rng.integers(0, 40)
            given[k, :, 2] = (32 - width) << 8 | (31 if k % 2 else 0)
        elif k % 8:
            given[k, :, 1:3] %= np.uint32(32)
        given[k, :, 3] = choose_members(rng, k, int(active[k]))
    return given, active


def choose_active(rng: np.random.Generator, k: int) -> int:
    some = int(rng.integers(1, 1 << 32))
    choices = (FULL, 0xFF, 1 << int(rng.integers(0, 32)), 0xAAAAAAAA, some, some & int(rng.integers(1, 1 << 32)) or 1, 0xFFFF0000)
    return choices[k % len(choices)]


def choose_members(rng: np.random.Generator, k: int, active: int) -> np.ndarray:
    """One mask for all, or one for each of several groups of lanes."""
    lanes, kind = np.arange(32), k // 7 % 5
    if kind < 3:
        return np.full(32, (active, FULL, active | int(rng.integers(0, 1 << 32)))[kind], np.uint32)
    groups = lanes >> int(rng.integers(1, 5)) if kind == 3 else rng.integers(0, 3, 32)
    return np.array([sum(1 << int(lane) for lane in np.flatnonzero(groups == group)) for group in groups], np.uint32)


def outside_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Warps of which some active lane is not named in its own membermask, one case each."""
    lanes = np.arange(32)
    members = {
        "most": (FULL, np.full(32, 0xFF)),
        "one": (FULL, np.full(32, FULL - 1)),
        "four of eight": (0xFF, np.full(32, 0x0F)),
        "one that others name": (FULL, np.where(lanes == 5, FULL - 32, FULL)),
        "all": (FULL, np.zeros(32)),
    }
    return {name: one_case(active, member) for name, (active, member) in members.items()}


def unequal_cases() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Warps whose lanes name each other in one direction only: nobody says what comes of it."""
    lanes = np.arange(32)
    prefix, pairs = (2 << lanes) - 1, np.where(lanes % 2, 3 << (lanes - lanes % 2), FULL)
    return {"lanes below": one_case(FULL, prefix), "pairs and all": one_case(FULL, pairs)}


def one_case(active: int, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    given = np.zeros((1, 32, 4), np.uint32)
    given[0, :, 0] = 1000 + np.arange(32)
    given[0, :, 1], given[0, :, 2], given[0, :, 3] = 3, 0x1F, member.astype(np.uint32)
    return given, np.array([active], np.uint32)


# What was recorded ----------------------------------------------------------------------------------------------------


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as file:
        return {key: file[key] for key in file.files}


def notes() -> dict:
    """What came of the cases beside results: faults and hangs, and where the builds differ."""
    return json.loads(str(recorded()["notes"]))
