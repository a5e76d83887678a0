"""What kernels print goes through a buffer of fixed size, as on a GPU."""

import warnings

import pytest

import simtlab as sl
from simtlab.host.printed import Printed

SOURCE = r'extern "C" __global__ void count(int n) { for (int i = 0; i < n; i++) printf("%d.%d ", blockIdx.x, i); }'


def whole(blocks, n):
    return "".join(f"{block}.{i} " for block in range(blocks) for i in range(n))


@pytest.mark.parametrize("machine", [None, "caps-gtx480"])
def test_the_latest_text_is_kept_and_the_rest_counted(machine, capsys):
    gpu = sl.Gpu(machine, printf_bytes=1000)
    kernel = gpu.compile(SOURCE)["count"]
    text = whole(3, 100)
    sentence = f"kernel 'count' printed more than its buffer of 1000 bytes holds: the first {len(text) - 1000} are lost"
    with pytest.warns(RuntimeWarning, match=rf"^{sentence}; Gpu\(printf_bytes=…\) makes it larger$"):
        run = kernel(3, 1, [100])
    assert run.printed == text[-1000:] == capsys.readouterr().out


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_lost_does_not_depend_on_the_threads(threads):
    gpu = sl.Gpu(threads=threads, printf_bytes=1000)
    with pytest.warns(RuntimeWarning):
        run = gpu.compile(SOURCE)["count"](12, 1, [30])
    assert run.printed == whole(12, 30)[-1000:]


def test_text_that_fits_is_all_there():
    text = whole(2, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sl.Gpu(printf_bytes=len(text)).compile(SOURCE)["count"](2, 1, [50]).printed == text


def test_a_buffer_holds_a_megabyte_unless_told_otherwise():
    assert sl.Gpu().printf_bytes == 1 << 20
    with pytest.raises(sl.SimtlabError, match=r"^printf_bytes is -1; it must not be negative$"):
        sl.Gpu(printf_bytes=-1)


def test_endless_printing_takes_a_bounded_number_of_pieces():
    printed = Printed(1000)
    most = 0
    for k in range(20_000):
        printed.add(k % 7, "" if k % 3 else "abc")
        most = max(most, sum(map(len, printed._parts.values())))
    assert most <= 40
    assert printed.text() == ("abc" * 1000)[-1000:]
