"""What the host threads of a machine have each, and what is left of one launch for the next."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.record import new_records, record_t
from simtlab.machine.threads import copy_but, part_bounds, port_bounds

LEAVE = r"""
extern "C" __global__ void leave(int *out) {
    __shared__ int kept[64];
    int mine[8];
    for (int k = 0; k < 8; k++) mine[k] = 7 + k * out[0];
    kept[threadIdx.x] = mine[threadIdx.x % 8];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = kept[63 - threadIdx.x] + mine[kept[threadIdx.x] % 8];
}
extern "C" __global__ void find(int *out) {
    extern __shared__ int kept[];
    out[blockIdx.x * 64 + threadIdx.x] = kept[threadIdx.x];
}
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("clusters", [16, 80, 132])
def test_every_cluster_is_in_one_part_and_the_threads_of_the_networks_have_fewer(clusters, threads):
    bounds = part_bounds(clusters, threads)
    sizes = np.diff(bounds)
    assert (bounds[0], bounds[-1], len(sizes)) == (0, clusters, threads)
    assert sizes.min() >= 0
    if threads <= 2:
        assert np.ptp(sizes) <= 1
    else:
        assert np.ptp(sizes[2:]) <= 1
        assert sizes[:2].max() <= sizes[2:].min()


@pytest.mark.parametrize("threads", [1, 3, 8, 16])
@pytest.mark.parametrize(("cores", "per_cluster"), [(132, 1), (72, 2), (20, 1)])
def test_cores_that_share_answers_get_them_from_one_thread(cores, per_cluster, threads):
    gpu = sl.Gpu("h200", set={"core.cores": cores, "core.cores_per_cluster": per_cluster})
    first, clusters = np.asarray(gpu.machine.records.gpu), cores // per_cluster
    group = first["coalescer"]["group"][0, :cores].reshape(clusters, per_cluster)
    ports = port_bounds(first, [per_cluster * bound for bound in part_bounds(clusters, threads)], per_cluster)
    assert (ports[0], ports[-1], len(ports)) == (0, clusters, threads + 1)
    whose = np.repeat(np.arange(threads), np.diff(ports))
    of_group = [set(whose[(group == g).any(axis=1)]) for g in range(group.max() + 1)]
    assert all(len(some) == 1 for some in of_group)
    assert len(set(whose)) == min(threads, len(of_group))


def test_a_record_is_copied_but_for_some_fields():
    fields = record_t([("a", "i8"), ("b", "i4", (40,)), ("c", "i8", (3,)), ("d", "i4", (90,))])
    one, other = np.asarray(new_records(1, fields)), np.asarray(new_records(1, fields))
    for number, name in enumerate(fields.names or ()):
        one[name], other[name] = 1 + number, 101 + number
    before = {name: other[name].copy() for name in ("b", "c")}
    copy_but(one[0], other[0], ("c", "b"))
    assert all((other[name] == one[name]).all() for name in ("a", "d"))
    assert all((other[name] == before[name]).all() for name in ("b", "c"))


def test_a_cta_finds_nothing_of_the_launch_before_in_its_shared_memory():
    gpu = sl.Gpu("caps-gtx480", memory_bytes=1 << 22)
    out, program = gpu.zeros(64 * 32, "i4"), gpu.compile(LEAVE)
    for grid in (2, 32):  # the second takes more slots than the first
        program["leave"](grid, 64, [out])
        assert out.numpy()[:128].any()
        program["find"](32, 64, [out], shared=256)
        assert not out.numpy().any()
