"""Machines that nobody has thought of: any possible configuration runs a kernel right, accounts for every cycle of every scheduler,
and counts the same whether idle cycles are skipped or not, and with any number of host threads. About 20 s."""

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import simtlab as sl
from simtlab.errors import ConfigError, LaunchError
from simtlab.machine.config import KEYS, load, presets
from simtlab.machine.config.keys import Choice, Flag, Real, Whole
from tests.timing import mixed

CTAS = 6
TRIED = [key for key in KEYS if not key.startswith(("energy.", "policies.")) and key not in ("dram.kind", "shared_memory.splits")]
POLICIES = {
    "warp_scheduler": ["lrr", "gto", "oldest", "two-level", "fetch-groups", "static-limit", "cggty", "cgrr"],
    "prefetcher": ["next-line", "inter", "intra", "caps"],
}


def values(key: str, usual: Any) -> st.SearchStrategy:
    """Values of a key: the ends of its range, those near the usual one, and any between."""
    kind = KEYS[key].metadata["kind"]
    if isinstance(kind, Whole):
        high = kind.high or 4 * max(1, usual)
        if kind.power_of_two:
            return st.sampled_from([1 << k for k in range(high.bit_length()) if kind.low <= 1 << k <= high])
        near = [value for value in (usual // 2, usual - 1, usual + 1, 2 * usual) if kind.low <= value <= high]
        return st.sampled_from([kind.low, high, *near]) | st.integers(kind.low, high)
    if isinstance(kind, Real):
        return st.floats(usual / 8, usual * 8)
    if isinstance(kind, Choice):
        return st.sampled_from(kind.words)
    assert isinstance(kind, Flag)
    return st.booleans()


@st.composite
def machines(draw) -> tuple[str, dict[str, Any], dict[str, str]]:
    """A preset with a few cores, some of its keys changed, and policies."""
    preset = draw(st.sampled_from(presets()))
    usual = load(preset)
    changes: dict[str, Any] = {"core.detail": draw(st.integers(1, 3))}
    if usual.network.kind != "mesh":
        changes["core.cores"] = usual.core.cores_per_cluster * draw(st.integers(1, 4))
    for key in draw(st.lists(st.sampled_from(TRIED), max_size=6, unique=True)):
        changes[key] = draw(values(key, dict(usual.items())[key]))
    policies = {slot: draw(st.sampled_from(names)) for slot, names in POLICIES.items() if draw(st.booleans())}
    return preset, changes, policies


def check(machine: tuple[str, dict[str, Any], dict[str, str]]) -> None:
    preset, changes, policies = machine
    try:
        config = load(preset).replace(changes)
    except ConfigError:
        assume(False)
    found = []
    for jump, threads in ((1, 1), (0, 1), (1, 2), (1, 4)):
        device = sl.Gpu(config, memory_bytes=1 << 24, max_cycles=50_000_000, threads=threads, **policies)
        device.machine.records.gpu[0].jump = jump
        device.machine._crew["least"] = 1 << 40 if threads == 4 else 8
        device.machine._crew["at_work"]["epoch"] = 8  # so that their number changes often
        try:
            run, written = mixed.launch(device, CTAS)
        except LaunchError:  # a CTA fits in no core
            assume(False)
        assert written == mixed.expected(CTAS)
        assert sum(run.stalls.values()) == run.cycles * config.core.cores * config.issue.schedulers
        assert all(share <= 1.001 for share in run.utilisation.values())  # clocks that do not divide each other are rounded
        found.append((run.cycles, run.counters, run.stalls))
    assert all(other == found[0] for other in found[1:])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(machines())
def test_what_is_no_machine_is_refused_by_name(machine):
    preset, changes, _ = machine
    error = ""
    try:
        load(preset).replace(changes)
    except ConfigError as found:
        error = str(found)
    assert not error or any(key in error for key in changes)


RELAXED = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.filter_too_much, HealthCheck.too_slow]}


@settings(max_examples=6, **RELAXED)  # test_many_machines_do tries 500
@given(machines())
def test_any_machine_runs_a_kernel_right_and_counts_every_cycle(machine):
    check(machine)


@pytest.mark.slow
@settings(max_examples=500, **RELAXED)
@given(machines())
def test_many_machines_do(machine):
    check(machine)
