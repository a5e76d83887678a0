"""What LOADS (section X) suggests: neighbouring CTAs on one core, loads in parts, an L2 for each group of cores."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from tests.timing.machines import gpu
from tests.timing.test_loads import PLENTY, only

WHERE = """
extern "C" __global__ void k(int *core, int *begun) {
    int smid;
    asm("mov.u32 %0, %smid;" : "=r"(smid));
    core[blockIdx.x] = smid;
    if (threadIdx.x == 0) atomicAdd(&begun[blockIdx.x], 1);
}
"""


def places(dispatch: str, ctas: int, cores: int = 3, most: int = 2) -> np.ndarray:
    """The core of each CTA; each must have run once."""
    device = gpu({"core.cores": cores, "core.max_ctas": most}, cta_dispatch=dispatch)
    core, begun = device.zeros(ctas, np.int32), device.zeros(ctas, np.int32)
    device.compile(WHERE)["k"](ctas, 32, [core, begun])
    assert begun.numpy().tolist() == [1] * ctas
    return core.numpy()


def test_round_robin_deals_neighbours_to_different_cores():
    assert places("round-robin", 6).tolist() == [0, 1, 2, 0, 1, 2]


def test_a_clustered_dispatch_keeps_neighbours_together():
    assert places("clustered,size=2", 6).tolist() == [0, 0, 1, 1, 2, 2]
    assert places("clustered,size=3", 6, cores=2, most=3).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("ctas", "size"), [(1, 4), (5, 2), (7, 4), (64, 4), (65, 3), (129, 1000), (200, 1)])
def test_every_cta_runs_once_whatever_the_rows(ctas, size):
    assert len(places(f"clustered,size={size}", ctas)) == ctas


def test_kernels_side_by_side_have_rows_of_their_own():
    device = gpu({"core.cores": 3, "core.max_ctas": 4}, cta_dispatch="clustered,size=2")
    kernel, counts = device.compile(WHERE)["k"], [device.zeros(50, np.int32) for _ in range(2)]
    for begun in counts:
        kernel(50, 32, [device.zeros(50, np.int32), begun], stream=device.stream())
    device.synchronize()
    assert [begun.numpy().tolist() for begun in counts] == [[1] * 50] * 2


def dispatch_that_says(tmp_path, answer: str) -> str:
    path = tmp_path / "mine.py"
    path.write_text(f"""from simtlab.policies.hook import *
@hook
def choose(gpu, own, kernel, cycle):
    for c in range(gpu.cores):
        if gpu.room[c]:
            return c
    return NO_CORE

@hook
def which(gpu, own, core, cycle):
    return {answer}
""")
    return str(path)


def test_a_policy_may_begin_at_the_end(tmp_path):
    path = dispatch_that_says(tmp_path, "gpu.kernel[gpu.placing].launch.n_ctas - 1 - gpu.kernel[gpu.placing].launch.next_cta")
    assert places(path, 4, cores=2, most=1).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("answer", ["0", "-2", "6", "1 << 40"])
def test_a_cta_that_does_not_wait_is_refused(answer, tmp_path):
    """The first of six CTAs may be asked for once; none beyond the grid."""
    said = rf"which answered {-2 if answer == '-2' else '[0-9]+'} in the GPU, cycle \d+; allowed is a CTA that `waits`, or NEXT_CTA"
    with pytest.raises(sl.PolicyError, match=said):
        places(dispatch_that_says(tmp_path, answer), 6)


# A load of 32 requests of one warp, and a little later one of two requests of another.
MIXED = """
extern "C" __global__ void k(const volatile int *index, const volatile int *x, const volatile int *z, int *y, int step) {
    int one = index[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) y[threadIdx.x] = x[one * 32];
    else y[threadIdx.x] = z[(threadIdx.x * step) & 63] + 1;
}
"""


def mixed(split: int) -> tuple[dict, np.ndarray]:
    device = gpu({**PLENTY, "l1d.split_requests": split})
    index, x = device.array(np.arange(64, dtype=np.int32)), device.array(np.arange(32 * 66, dtype=np.int32))
    y = device.zeros(64, np.int32)
    return device.compile(MIXED)["k"](1, 64, [index, x, index, y, np.int32(3)]).loads.table(), y.numpy()


def test_a_load_in_parts_lets_others_go_between():
    whole, expected = mixed(0)
    parts, found = mixed(1)
    assert np.array_equal(found, expected)
    n, d = whole["class"].index("N"), len(whole["class"]) - 1 - whole["class"][::-1].index("D")
    assert whole["requests"][n] == parts["requests"][n] == 32
    assert whole["by_earlier"][d] > parts["by_earlier"][d] == 0  # it no longer waits for the rest of the other's requests
    assert parts["by_itself"][n] == whole["by_itself"][n] + 2  # which in turn waits for its two


def test_a_deterministic_load_is_never_cut():
    device = gpu({**PLENTY, "l1d.split_requests": 1})
    text = 'extern "C" __global__ void k(const int *x, int *y) { y[threadIdx.x] = x[32 * threadIdx.x]; }'
    load = only(device.compile(text)["k"](1, 64, [device.zeros(32 * 64, np.int32), device.zeros(64, np.int32)]))
    assert (load["class"], load["requests"]) == ("D", 64)
    assert load["by_itself"] == 62  # 31 cycles for each of the two warps


@pytest.mark.parametrize(("groups", "misses"), [(1, 1), (2, 2)])
def test_a_group_does_not_find_what_another_has_in_its_part_of_the_l2(groups, misses):
    device = sl.Gpu("loads-c2050", set={"core.cores": 2, "l2.groups": groups})
    text = """extern "C" __global__ void k(const volatile int *x, int *y) {
        for (int k = 0; k < blockIdx.x * 400; k++) __threadfence();
        y[blockIdx.x * 32 + threadIdx.x] = x[0];
    }"""
    load = only(device.compile(text)["k"](2, 32, [device.zeros(1, np.int32), device.zeros(64, np.int32)]))
    assert (load["miss"], load["l2_miss"]) == (2, misses)


def test_the_results_do_not_depend_on_the_groups():
    for name in ("BFS", "HST", "CCL"):  # atomics and flags among them
        assert sl.workload(name, "tiny").run(sl.Gpu("loads-c2050", set={"l2.groups": 4})).checked


@pytest.mark.parametrize(("changes", "said"), [
    ({"l2.groups": 3}, "l2.groups"), ({"l2.groups": 16}, "there are 14 cores, and every group must have one"),
    ({"l2.groups": 64, "core.cores": 64}, None), ({"l2.groups": 128, "core.cores": 128}, "a slice has 64 sets"),
])  # fmt: skip
def test_groups_must_fit_the_machine(changes, said):
    if said is None:
        sl.Gpu("loads-c2050", set=changes)
        return
    with pytest.raises(ConfigError, match=said):
        sl.Gpu("loads-c2050", set=changes)
