"""The records of a machine: what they cost the host, and that all of a kind are alike but for their number."""

import numpy as np
import pytest

from simtlab.machine.build import PAGE, build, repeat_first
from simtlab.machine.config import load
from simtlab.machine.core.state import core_t
from simtlab.machine.record import CACHE_LINE, new_records


def test_records_begin_with_a_cache_line_of_the_host_and_are_empty():
    for count in (1, 3):
        cores = new_records(count, core_t)
        assert len(cores) == count
        assert cores.ctypes.data % CACHE_LINE == 0
        assert not np.asarray(cores).view(np.uint8)[: 1 << 16].any()


@pytest.mark.parametrize("preset", ["h200", "gtx480"])
def test_cores_and_slices_differ_in_their_number_and_place_alone(preset):
    config = load(preset)
    records = build(config)
    cores, slices = np.asarray(records.cores), np.asarray(records.slices)
    assert cores["number"].tolist() == list(range(config.core.cores))
    assert cores["cluster"].tolist() == [k // config.core.cores_per_cluster for k in range(config.core.cores)]
    assert (cores["address"] - cores["address"][0]).tolist() == [k * core_t.itemsize for k in range(config.core.cores)]
    assert slices["number"].tolist() == list(range(config.l2.slices))
    assert slices["channel"].tolist() == [k // config.l2.slices_per_channel for k in range(config.l2.slices)]
    for all_alike in (cores, slices):
        own = {"number", "cluster", "address", "channel"}
        for name in set(all_alike.dtype.names) - own - {"l1d", "cache", "ctas"}:
            first, last = all_alike[name][0].tobytes(), all_alike[name][-1].tobytes()
            assert first == last, name


@pytest.mark.parametrize("before", [None, "last"])
def test_new_records_become_like_the_first_and_what_is_zero_is_not_touched(before):
    dtype = np.dtype([("head", "u1", (100,)), ("zero", "u1", (5 * PAGE,)), ("tail", "u1", (30,)), ("last", "u1", (20,))])
    records = np.zeros(3, dtype)
    records["head"][0, 7], records["tail"][0], records["last"][0] = 1, 2, 3
    records["zero"][1:, 2 * PAGE] = 9  # which no new record has: here it shows what was touched
    repeat_first(records, before)
    assert (records["head"] == records["head"][0]).all()
    assert (records["tail"] == 2).all()
    assert (records["last"][1:] == (0 if before else 3)).all()
    assert (records["zero"][1:, 2 * PAGE] == 9).all()
