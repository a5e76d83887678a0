"""The constant caches of an H200's core: 2 KB with lines of 64 bytes, 128 KB behind it with lines of 128, then the L2.

A load of a constant that issues in cycle 0 is looked up in cycle 1; it has its data 22 cycles later if the first has them, 91 if
the second. An operand is looked for when its instruction is the warp's next, and is there at once if the first cache has it.
"""

from itertools import pairwise

import pytest

from simtlab.errors import ConfigError
from simtlab.machine.config import load as config
from tests.timing.machine_code import machine, ran, stamp, stamps, took, written

HIT, SECOND, ADDRESS = 22, 91, 2
BANK = "c[0x3]"


@pytest.fixture(scope="module")
def device():
    return machine()


@pytest.fixture(scope="module")
def line(device):
    """Where the first line of 128 bytes in the bank with the table begins; the bank need not begin with one."""
    return -written(device, "").program.constants.starts[3] % 128


def load(place: int, register: int = 8) -> str:
    return f"LDC R{register}, {BANK}[{place:#x}] | write=0\nNOP | wait=0\n"


def add(place: int) -> str:
    return f"FADD R8, R9, {BANK}[{place:#x}]\n"


@pytest.mark.parametrize("access", [load, add])
def test_what_neither_cache_has_comes_from_the_l2_or_beyond(device, line, access):
    assert took(device, access(line)) > 200


def test_a_load_of_a_line_that_was_read_hits_the_first_cache(device, line):
    assert took(device, load(line + 4), load(line)) == 1 + HIT + 1


def test_the_other_half_of_a_line_of_the_second_cache_hits_there(device, line):
    assert took(device, load(line + 64), load(line)) == 1 + SECOND + 1


def test_what_the_second_cache_gave_is_in_the_first(device, line):
    assert took(device, load(line + 68), load(line) + load(line + 64)) == 1 + HIT + 1


def test_the_counters_tell_the_three_apart(device, line):
    bodies = ["", load(line), load(line) + load(line + 64), load(line) + load(line + 64) + load(line)]
    runs = [ran(device, body)[0].counters for body in bodies]
    names = ("l1c_misses", "l1c_second_hits", "l1c_hits")
    changes = [tuple(after[name] - before[name] for name in names) for before, after in pairwise(runs)]
    assert changes == [(1, 0, 0), (1, 1, 0), (0, 0, 1)]


def test_an_operand_that_the_first_cache_has_takes_no_time(device, line):
    assert took(device, add(line + 4), load(line)) == 1


def test_an_operand_of_the_second_cache_is_waited_for_from_when_its_instruction_is_next(device, line):
    """It is next when the stamp has issued, two cycles before it may issue itself."""
    assert took(device, add(line + 64), load(line)) == SECOND - 2 + 1


def test_a_kernel_finds_its_parameters_in_the_second_cache(device):
    """They come with the launch. What is in front of every body reads other lines of the bank."""
    assert took(device, "FADD R8, R9, c[0x0][0x100]\n") == SECOND - 2 + 1


@pytest.mark.parametrize("addresses", [1, 2, 4, 16])
def test_lanes_with_different_addresses_take_turns(device, line, addresses):
    """So many words of one line, which is there."""
    index = f"LOP3.LUT R9, R0, {addresses - 1:#x}, RZ, 0xc0, !PT | stall=15\nIMAD R9, R9, 0x4, RZ | stall=15\n"
    body = f"LDC R8, {BANK}[R9+{line:#x}] | write=0\nNOP | wait=0\n"
    assert took(device, body, load(line) + index) == 1 + (addresses - 1) * ADDRESS + HIT + 1


# Warp 0 goes straight on, warp 4, of the same sub-core, and the others jump over what it does.
APART = "ISETP.GT.U32.AND P0, PT, R0, 0x1f, PT | stall=15\n@P0 BRA {other} | stall=5\n"
ADDITIONS = 20 * "FADD R16, R10, R11 | stall=4\n"


def test_a_missing_operand_stalls_its_warp_and_nobody_else(device, line):
    """The other warps' twenty additions of four cycles each take as long as without it."""
    body = APART + add(line) + "BRA {end} | stall=5\nother:\n" + stamp(0) + ADDITIONS + stamp(1) + "end:\n"
    present, missing = load(line) + body, body
    there, away = (ran(device, one, warps=5) for one in (present, missing))
    assert there[1][4, 1] - there[1][4, 0] == away[1][4, 1] - away[1][4, 0] == 2 + 80
    assert away[0].stalls["imc_miss"] > 200


def test_two_warps_that_miss_one_line_share_a_request(device, line):
    run, _ = ran(device, add(line), warps=2)
    alone, _ = ran(device, add(line), warps=1)
    assert run.counters["l1c_misses"] - alone.counters["l1c_misses"] >= 1
    assert constant_requests(run) == constant_requests(alone)


def constant_requests(run) -> int:
    """Reads of the L2 that are of nothing else: the instruction cache is ideal, and no data are read."""
    return run.counters["l2_hits"] + run.counters["l2_hits_reserved"] + run.counters["l2_misses"]


def test_a_line_that_many_warps_want_is_there_for_all(device, line):
    found = stamps(device, stamp(0) + add(line) + stamp(1), warps=8)
    assert max(row[1] for row in found) - min(row[1] for row in found) <= 8


@pytest.mark.parametrize("size", [512, 1536, 3072, 1 << 24])
def test_a_second_cache_of_an_impossible_size_is_refused(size):
    with pytest.raises(ConfigError, match=rf"l1c\.second_bytes = {size} is impossible: it must be 0, or 1024"):
        config("h200").replace({"l1c.second_bytes": size})
