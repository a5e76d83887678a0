"""Warp schedulers from files, inside the package and out."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import gpu, kernel
from tests.timing.test_accounting import launch

MINE = '''
"""Youngest first."""
import numpy as np
from simtlab.policies.hook import bit_of, hook

@hook
def pick(core, own, ready, cycle):
    best = -1
    for w in range(core.warp_slots):
        if ready & bit_of(w) and (best < 0 or core.slots[w].age > core.slots[best].age):
            best = w
    return best
'''


def test_a_policy_outside_the_package_is_a_file(tmp_path):
    path = tmp_path / "youngest.py"
    path.write_text(MINE)
    run, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler=str(path)))
    other, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler="oldest"))
    assert run.instructions == other.instructions
    assert run.cycles != other.cycles


def test_an_unknown_policy_names_the_nearest():
    with pytest.raises(sl.SimtlabError, match="no warp scheduler 'gtoo'; did you mean 'gto'"):
        sl.Gpu("caps-gtx480", warp_scheduler="gtoo")


def test_a_file_without_pick_is_refused(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text('"""Nothing."""\n')
    with pytest.raises(sl.SimtlabError, match="lacks the hook 'pick'"):
        sl.Gpu("caps-gtx480", warp_scheduler=str(path))


def test_a_cta_that_fits_nowhere_says_what_it_lacks():
    gpu = sl.Gpu("caps-gtx480", set={"shared_memory.bytes": 512, "shared_memory.shares_l1": False})
    with pytest.raises(sl.LaunchError, match=r"fits in no core .* needs 1024 bytes of shared memory, a core has 512, 512 too few"):
        launch(gpu)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"core.max_warps": 7, "core.max_threads": 224}, "needs 8 warps, a core has 7, 1 too few"),
        ({"core.max_threads": 224}, "needs 256 threads, a core has 224, 32 too few"),
    ],
)
def test_a_cta_of_256_threads_that_fits_nowhere_says_whether_it_lacks_warps_or_threads(changes, words):
    with pytest.raises(sl.LaunchError, match=f"fits in no core .* {words}"):
        launch(sl.Gpu("caps-gtx480", set=changes))
    launch(sl.Gpu("caps-gtx480", set={"core.max_warps": 8, "core.max_threads": 256}))


def test_a_cta_fits_in_the_registers_it_needs_and_in_no_core_with_a_unit_less():
    """8 warps, each with its 32 lanes' registers in whole units of 64."""
    body = "".join(f"mov.u32 %r{k}, %tid.x;\n" for k in range(20)) + "".join(f"add.u32 %r0, %r0, %r{k};\n" for k in range(20))
    made = kernel(gpu(), body)
    needed = 8 * 64 * -(-32 * made.registers // 64)
    assert made.registers >= 20
    run = kernel(gpu({"core.registers": needed}), body)(1, 256, [np.uint64(0)] * 2)
    assert (run.timing.occupancy.ctas, run.timing.occupancy.limited_by) == (1, "registers")
    with pytest.raises(sl.LaunchError, match=f"needs {needed} registers, a core has {needed - 64}, 64 too few"):
        kernel(gpu({"core.registers": needed - 64}), body)(1, 256, [np.uint64(0)] * 2)


def test_a_policy_edited_within_the_second_runs_as_it_is_now(tmp_path):
    """Bytecode kept beside a file of the same size and second must not stand for it."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    youngest, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler=str(path)))
    path.write_text(MINE.replace(".age > core", ".age < core"))
    oldest, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler=str(path)))
    assert youngest.cycles != oldest.cycles == launch(sl.Gpu("caps-gtx480", warp_scheduler="oldest"))[0].cycles
