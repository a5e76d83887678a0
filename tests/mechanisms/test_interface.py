"""What a mechanism can rely on: events come as often as the machine counts them, decisions are obeyed, mistakes are told."""

import re
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.machine.hooks import EVENTS
from simtlab.policies.load import load
from simtlab.policies.slot_tables import filled_in
from tests.timing.test_accounting import launch

MACHINE = "caps-gtx480"
ROOT = Path(__file__).parents[2]
IMPORTS = "import numpy as np\nfrom simtlab.policies.hook import *\n"
KERNEL = r"""
extern "C" __global__ void sums(const float *x, float *out, int turns) {
    __shared__ float part[128];
    float s = 0;
    #pragma unroll 1
    for (int k = 0; k < turns; k++) s += x[(blockIdx.x * turns + k) * 128 + threadIdx.x];
    part[threadIdx.x] = s;
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = part[127 - threadIdx.x];
}
"""
CTAS, TURNS, WARPS = 12, 5, 4


def mechanism(tmp_path, text, name="mine.py"):
    path = tmp_path / name
    path.write_text(IMPORTS + text)
    return str(path)


def sums(**policies):
    """Runs the kernel on two cores; its run and its result."""
    gpu = sl.Gpu(MACHINE, set={"core.cores": 2}, **policies)
    x = gpu.array(np.arange(CTAS * TURNS * 128, dtype=np.float32))
    out = gpu.zeros(CTAS * 128)
    run = gpu.compile(KERNEL, options=["-lineinfo"])["sums"](CTAS, 128, [x, out, np.int32(TURNS)])
    return run, np.array(out)


COUNTS_ALL = (
    f"state = np.dtype([('period', 'i8')] + [(name, 'i8') for name in {[name for name in EVENTS if name != 'allow']!r}])\n"
    "parameters = {'period': 100}\nscope = 'chip'\n"
    f"counters = {{name: ('times', 'Told.') for name in {[name for name in EVENTS if name != 'allow']!r}}}\n"
    + "".join(f"@hook\ndef {name}(unit, own, argument, cycle):\n    own.{name} += 1\n" for name in EVENTS if name != "allow")
)


def test_events_come_as_often_as_the_machine_counts_them(tmp_path):
    run, _ = sums(mechanism=mechanism(tmp_path, COUNTS_ALL))
    told = {name: run.counters[f"mechanism.mine.{name}"] for name in EVENTS if name != "allow"}
    counted = run.counters
    assert told["on_issue"] == run.instructions
    assert told["on_l1_hit"] == counted["l1_hits"]
    assert told["on_l1_miss"] == counted["l1_misses"] + counted["l1_hits_reserved"]
    assert told["on_l2_hit"] == counted["l2_hits"]
    assert told["on_l2_miss"] == counted["l2_misses"] + counted["l2_hits_reserved"]
    assert told["on_cta_start"] == told["on_cta_end"] == CTAS
    assert told["on_warp_end"] == told["on_barrier"] == CTAS * WARPS
    assert told["on_load"] == told["on_load_end"] == CTAS * WARPS * TURNS
    assert told["on_loop"] == CTAS * WARPS * (TURNS - 1)
    assert told["on_branch"] >= told["on_loop"]
    assert told["on_compare"] > 0
    assert told["on_l1_fill"] > 0
    assert run.cycles // 100 <= told["on_tick"] // 2 <= run.cycles // 100 + 2


def test_listening_changes_nothing(tmp_path):
    (plain, result), (heard, same) = sums(), sums(mechanism=mechanism(tmp_path, COUNTS_ALL))
    assert np.array_equal(result, same)
    assert plain.cycles == heard.cycles
    assert plain.counters == {name: value for name, value in heard.counters.items() if not name.startswith("mechanism")}


def test_loops_are_known_and_their_turns_told(tmp_path):
    text = """
state = np.dtype([("turns", "i8"), ("loads", "i8"), ("lanes", "i8"), ("back", "i8")])
counters = {name: ("n", "Of loops.") for name in ("turns", "loads", "lanes", "back")}
@hook
def on_loop(core, own, warp, cycle):
    fact = fact_of(core, warp, core.slots[warp].head)
    own.turns += 1
    own.loads += fact.loads
    own.lanes += active_lanes(core, warp)
    own.back += next_pc(core, warp) == fact.header and is_in_loop(core, warp, fact.header, core.slots[warp].head)
"""
    gpu = sl.Gpu(MACHINE, set={"core.cores": 1}, mechanism=mechanism(tmp_path, text))
    source = r"""extern "C" __global__ void loop(const float *x, float *out, int turns) {
        float s = 0;
        #pragma unroll 1
        for (int k = 0; k < turns; k++) s += x[k * 32 + threadIdx.x];
        out[threadIdx.x] = s;
    }"""
    run = gpu.compile(source)["loop"](1, 32, [gpu.zeros(32 * 10), gpu.zeros(32), np.int32(10)])
    counts = {name: run.counters[f"mechanism.mine.{name}"] for name in ("turns", "loads", "lanes", "back")}
    assert counts == {"turns": 9, "loads": 9, "lanes": 9 * 32, "back": 9}


def test_allow_holds_warps_back_and_schedulers_pick_among_the_rest(tmp_path):
    text = "@hook\ndef allow(core, own, ready, cycle):\n    return ready & np.uint64(0x55555555) if cycle < 3000 else ready\n"
    gpus = {name: sums(mechanism=mechanism(tmp_path, text), warp_scheduler=name) for name in ("gto", "lrr", "two-level")}
    for run, result in gpus.values():
        assert run.cycles > 3000
        assert np.array_equal(result, sums()[1])


def test_an_answer_beyond_the_set_is_told(tmp_path):
    path = mechanism(tmp_path, "@hook\ndef allow(core, own, ready, cycle):\n    return ready | np.uint64(1 << 40)\n")
    with pytest.raises(sl.PolicyError, match=r"mine.py': allow answered \d+ in core \d+, cycle \d+; allowed is warps of the set"):
        sums(mechanism=path)


WRONG = [
    ("ldst_queue_next(core, own, count, cycle)", "count", "core", r"in core \d+, .*a place from 0 to `count` - 1; `count` was"),
    ("l1_allocation_bypass_stall(core, own, op, cycle)", "2", "core", "answered 2 .*allowed is 0 or 1"),
    ("l1_replacement_insert(cache, own, way, cycle)", "cache.ways", "core", r"in core \d+, .*a place from 0 to `cache.ways - 1`"),
    ("l2_replacement_insert(cache, own, way, cycle)", "-1", "chip", "answered -1 in the GPU"),
    ("l2_allocation_bypass(slice, own, request, cycle)", "-4", "chip", "answered -4 in the GPU.*0 or 1"),
    ("l2_queue_priority(slice, own, request, cycle)", "4", "chip", "answered 4 .*a priority from 0 to 3"),
    ("dram_scheduler_priority(channel, own, position, cycle)", "9", "chip", "answered 9 .*a priority from 0 to 3"),
    ("clocks_choose(gpu, own, level, cycle)", "9", "chip", r"answered 9 .*`clocks\(core, memory\)`"),
]


@pytest.mark.parametrize(("head", "answer", "scope", "words"), WRONG, ids=lambda part: str(part).split("(")[0][:24])
def test_an_impossible_answer_of_a_new_decision_is_told(head, answer, scope, words, tmp_path):
    text = f"scope = '{scope}'\nstate = np.dtype([('period', 'i8')])\nparameters = {{'period': 50}}\n"
    text += f"@hook\ndef {head}:\n    return {answer}\n"
    small = {"core.cores": 2, "l1d.mshr_entries": 4}
    with pytest.raises(sl.PolicyError, match=words):
        launch(sl.Gpu(MACHINE, set=small, mechanism=mechanism(tmp_path, text)))


MISTAKES = [
    ("x = 1\n", "has no hook"),
    ("@hook\ndef on_l1_evicted(core, own, way, cycle):\n    pass\n", "did you mean 'on_l1_evict'"),
    ("@hook\ndef on_l2_hit(slice, own, request, cycle):\n    pass\n", r'called for the slice.*add scope = "chip"'),
    ("scope = 'board'\n@hook\ndef on_issue(core, own, warp, cycle):\n    pass\n", 'scope = .board. is impossible'),
    ("@hook\ndef on_tick(core, own, count, cycle):\n    pass\n", "on_tick' and lacks the parameter 'period'"),
    ("scope = 'chip'\n@hook\ndef clocks_choose(gpu, own, level, cycle):\n    return 4\n", "sets the clocks and lacks"),
    ("@hook\ndef warp_scheduler_on_issue(core, own, warp, cycle):\n    pass\n", "lacks the hook 'warp_scheduler_pick'"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES, ids=[words[:20] for _, words in MISTAKES])
def test_a_mistake_in_a_mechanism_is_told_before_it_runs(text, words, tmp_path):
    with pytest.raises((ConfigError, sl.PolicyError), match=words):
        sl.Gpu(MACHINE, mechanism=mechanism(tmp_path, text))


BYPASS = "@hook\ndef l1_allocation_bypass(core, own, op, cycle):\n    return 1\n"


def test_a_slot_has_one_owner(tmp_path):
    path = mechanism(tmp_path, BYPASS)
    with pytest.raises(ConfigError, match=r"mechanism = .*mine.py and l1_allocation = skip-non-deterministic both fill the slot"):
        sl.Gpu(MACHINE, mechanism=path, l1_allocation="skip-non-deterministic")
    other = mechanism(tmp_path, BYPASS, "other.py")
    with pytest.raises(ConfigError, match=r"mechanism_2 = .*other.py and mechanism = .*mine.py both fill the slot l1_allocation"):
        sl.Gpu(MACHINE, mechanism=path, mechanism_2=other)


def test_a_mechanism_takes_the_place_of_what_the_machine_comes_with(tmp_path):
    text = "@hook\ndef warp_scheduler_pick(core, own, ready, cycle):\n    return youngest(core, ready)\n"
    gpu = sl.Gpu(MACHINE, mechanism=mechanism(tmp_path, text))
    assert set(gpu.machine.policies) == {"cta_dispatch", "mechanism"}


COUNTS_ISSUES = """
state = np.dtype([("on_issue", "i8")])
scope = "chip"
counters = {"on_issue": ("times", "Told.")}
@hook
def on_issue(core, own, warp, cycle):
    own.on_issue += 1
"""


def test_three_mechanisms_hear_the_same_event(tmp_path):
    path = mechanism(tmp_path, COUNTS_ISSUES)
    run, _ = sums(mechanism=path, mechanism_2=path, mechanism_3=path)
    for place in ("mechanism", "mechanism_2", "mechanism_3"):
        assert run.counters[f"{place}.mine.on_issue"] == run.instructions


def test_a_state_of_the_chip_is_one(tmp_path):
    text = """
scope = "chip"
state = np.dtype([("most", "i8"), ("seen", "i8", (4,))])
counters = {"most": ("cores", "That were seen.")}
@hook
def on_issue(core, own, warp, cycle):
    own.seen[core.number] = 1
    own.most = own.seen.sum()
"""
    run, _ = sums(mechanism=mechanism(tmp_path, text))
    assert run.counters["mechanism.mine.most"] == 2


def test_reads_that_go_around_the_l2_leave_no_line_there(tmp_path):
    text = "scope = 'chip'\n@hook\ndef l2_allocation_bypass(slice, own, request, cycle):\n    return 1\n"
    (plain, result), (around, same) = sums(), sums(mechanism=mechanism(tmp_path, text))
    assert np.array_equal(result, same)
    assert plain.counters["l2_bypasses"] == 0 < around.counters["l2_bypasses"]
    assert around.counters["l2_bypasses"] == around.counters["l1_misses"]


THRASH = r"""
extern "C" __global__ void scan(const float *x, float *out, int lines, int turns) {
    float s = 0;
    #pragma unroll 1
    for (int k = 0; k < turns * lines; k++) s += x[k % lines * 32 + threadIdx.x];
    out[threadIdx.x] = s;
}
"""


@pytest.mark.parametrize(("answer", "hits"), [("cache.ways - 1", 0), ("0", 2 * 9)])
def test_the_place_of_a_filled_line_is_obeyed(answer, hits, tmp_path):
    """A warp goes round five lines of a set of four. With the least recently used line evicted nothing hits. A line that is filled
    as the next to go is evicted by the one after it, and three stay: most of their accesses hit in the nine turns that follow."""
    path = mechanism(tmp_path, f"@hook\ndef l1_replacement_insert(cache, own, way, cycle):\n    return {answer}\n")
    machine = {"core.cores": 1, "l1d.bytes": 512, "l1d.ways": 4, "shared_memory.shares_l1": False}
    gpu = sl.Gpu(MACHINE, set=machine, mechanism=path)
    x = gpu.zeros(32 * 5)
    run = gpu.compile(THRASH)["scan"](1, 32, [x, gpu.zeros(32), np.int32(5), np.int32(10)])
    assert run.counters["l1_hits"] >= hits
    assert (run.counters["l1_hits"] == 0) == (hits == 0)


def test_loads_of_an_earlier_run_are_known(tmp_path):
    text = """
scope = "chip"
state = np.dtype([("accesses", "i8"), ("hits", "i8")])
counters = {"accesses": ("n", "Before."), "hits": ("n", "Before.")}
@hook
def on_load(core, own, op, cycle):
    fact = fact_of(core, core.ops[op].slot, core.ops[op].pc)
    own.accesses, own.hits = max(own.accesses, fact.accesses), max(own.hits, fact.hits)
"""
    first, _ = sums()
    again, _ = sums(mechanism=mechanism(tmp_path, text), profile=[first])
    assert again.counters["mechanism.mine.accesses"] == first.timing.loads["requests"].max()
    assert sums(mechanism=mechanism(tmp_path, text))[0].counters["mechanism.mine.accesses"] == 0


def test_the_page_has_every_slot_and_event():
    page = (ROOT / "docs" / "write-a-policy.md").read_text()
    assert page == filled_in(page)


def test_the_mechanism_of_the_page_runs(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "write-a-policy.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    place = next(k for k, block in enumerate(blocks) if "once bitten" in block.lower())
    (tmp_path / "once_bitten.py").write_text(blocks[place])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks[place + 1], "write-a-policy.md", "exec"), {})
    assert capsys.readouterr().out == "True\n"


def test_a_mechanism_is_compiled_once_whichever_its_place(tmp_path):
    path = mechanism(tmp_path, COUNTS_ISSUES)
    places = [load(place, path) for place in ("mechanism", "mechanism_2", "mechanism_3")]
    assert places[0].addresses == places[1].addresses == places[2].addresses
    assert places[0].addresses["on_issue"] != 0
    assert [policy.slot for policy in places] == ["mechanism", "mechanism_2", "mechanism_3"]
