"""Device printf: every format, and the order of what is printed."""

import pytest

import simtlab as sl
from tests.kernels.library import source


@pytest.fixture(scope="module")
def printing(gpu):
    return gpu.compile(source("printing"))


def test_every_format(gpu, printing, capsys):
    """The text is what an H200 prints."""
    pointer = gpu.zeros(1)
    run = printing["formats"](1, 1, [pointer])
    assert run.printed.splitlines() == [
        "-42|   42|42   |00042|+42|7",
        "3000000000|ff|FF|0xff|10|010",
        "-1234567890123|18446744073709551615|-5|abcdef0123",
        "3.250000|0.67|   1.500|1.234568e+04|1e-10|100000|1E+20",
        "abc|text|   right|left  |cu",
        f"{pointer.address:#x}|(nil)|100%|4464|(null)",
        "inf|-inf|0.000000|0x1.8p+0|-0.000000",
        "no arguments",
    ]
    assert capsys.readouterr().out == run.printed


def test_formats_of_c_beyond_those_of_the_device(printing):
    assert printing["more_formats"](1, 1, []).printed == "    42|3.1|7   |44|8|2.500000\n"


@pytest.mark.parametrize("threads", [1, 4])
def test_lines_come_block_by_block_and_lane_by_lane(threads):
    gpu = sl.Gpu(threads=threads)
    counts = gpu.zeros(18, "i4")
    run = gpu.compile(source("printing"))["in_order"](3, 6, [counts])
    expected = []
    for block in range(3):
        evens = [f"even {6 * block + t}" for t in range(6) if (6 * block + t) % 2 == 0]
        odds = [f"block {block} thread {t}" for t in range(6) if (6 * block + t) % 2]
        expected.append((evens, odds, f"block {block} ends"))
    lines = run.printed.splitlines()
    for block, (evens, odds, end) in enumerate(expected):
        part = lines[7 * block : 7 * block + 7]
        assert part[6] == end
        assert part[:6] in (evens + odds, odds + evens)
    assert counts.numpy().tolist() == [1, 2] * 9


def test_strings_in_global_shared_local_and_constant_memory(printing):
    run = printing["strings_from_everywhere"](1, 2, [])
    assert run.printed == "in global, shrd, local, even\nin global, shrd, local, odd\n"
