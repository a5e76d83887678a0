"""Row-locality-preserving arbitration: outputs of the network go on with one core's requests, or one row's."""

import numpy as np
import pytest

import simtlab as sl

# Requests are served as they come, from one channel behind one slice: all order comes from the network.
IN_ORDER = {"core.cores": 4, "dram.scheduler": "fcfs", "dram.channels": 1, "l2.slices": 1, "l2.slices_per_channel": 1}
STREAM = """
extern "C" __global__ void stream(const int4 *x, int4 *sums, int rounds) {
    int4 sum = {0, 0, 0, 0};
    for (int k = 0; k < rounds; k++) {
        int4 v = x[(blockIdx.x * rounds + k) * blockDim.x + threadIdx.x];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def stream(changes: dict, **policies) -> sl.Run:
    """Each core sums a region of its own, which begins at the same bank as the others' and in another row."""
    gpu = sl.Gpu("gtx480", set=changes, **policies)
    ctas, threads, rounds = changes["core.cores"], 256, 16
    x = np.arange(ctas * rounds * threads * 4, dtype=np.int32).reshape(ctas, rounds, threads, 4)
    sums = gpu.zeros((ctas, threads, 4), np.int32)
    run = gpu.compile(STREAM)["stream"](ctas, threads, [gpu.array(x), sums, rounds])
    np.testing.assert_array_equal(sums.numpy(), x.sum(axis=1))
    return run


@pytest.mark.parametrize("by_row", [0, 1])
def test_an_in_order_controller_finds_rows_open_more_often(by_row):
    """Four cores stream through rows of their own: in turn they close one another's rows, and the controller does not reorder."""
    before, after = stream(IN_ORDER), stream(IN_ORDER, network_arbiter=f"row_locality,by_row={by_row}")
    assert after.counters["network_arbiter.row-locality.held"] > 100
    assert after.counters["dram_row_conflicts"] < 0.5 * before.counters["dram_row_conflicts"]
    assert after.cycles < 0.7 * before.cycles


def test_most_of_what_a_reordering_controller_gains_is_gained_by_the_network():
    """The paper's point: an in-order controller behind such a network comes close to an out-of-order one."""
    in_order, held, reordered = (stream(changes, **policy) for changes, policy in (
        (IN_ORDER, {}), (IN_ORDER, {"network_arbiter": "row_locality"}), (IN_ORDER | {"dram.scheduler": "fr-fcfs"}, {}),
    ))  # fmt: skip
    assert in_order.cycles - held.cycles > 0.7 * (in_order.cycles - reordered.cycles)


def test_routers_of_a_mesh_hold_grants_too():
    mesh = IN_ORDER | {"network.kind": "mesh", "network.mesh_width": 3, "network.mesh_height": 3}
    before, after = stream(mesh), stream(mesh, network_arbiter="row_locality")
    assert after.counters["network_arbiter.row-locality.held"] > 100
    assert after.cycles < 0.7 * before.cycles


def test_with_one_core_there_is_nothing_to_hold():
    """A core has one input to the network: there is never another to go before."""
    alone = IN_ORDER | {"core.cores": 1}
    before, after = stream(alone), stream(alone, network_arbiter="row_locality")
    assert after.cycles == before.cycles
    assert after.counters["network_arbiter.row-locality.held"] == 0
