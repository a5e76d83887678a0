"""Warp schedulers from files, inside the package and out."""

import pytest

import simtlab as sl
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
    with pytest.raises(sl.LaunchError, match=r"fits in no core .* needs 1024 shared memory, a core has 512, 512 too few"):
        launch(gpu)


def test_a_policy_edited_within_the_second_runs_as_it_is_now(tmp_path):
    """Bytecode kept beside a file of the same size and second must not stand for it."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    youngest, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler=str(path)))
    path.write_text(MINE.replace(".age > core", ".age < core"))
    oldest, _, _ = launch(sl.Gpu("caps-gtx480", warp_scheduler=str(path)))
    assert youngest.cycles != oldest.cycles == launch(sl.Gpu("caps-gtx480", warp_scheduler="oldest"))[0].cycles
