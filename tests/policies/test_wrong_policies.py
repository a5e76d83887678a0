"""A policy that does what it may not is told in a sentence: which policy, hook, what it did, where and when. Nothing crashes."""

import re

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.hooks import SLOTS
from simtlab.policies.guard import MOST_TURNS
from simtlab.policies.load import available, load
from tests.timing.machines import kernel
from tests.timing.test_accounting import launch

IMPORTS = "import numpy as np\nfrom simtlab.policies.hook import *\n"
MACHINE = "caps-gtx480"


def policy(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(IMPORTS + text)
    return str(path)


def scheduler(body, state=""):
    return f"{state}\n@hook\ndef pick(core, own, ready, cycle):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def message_of(slot, path, machine=MACHINE):
    with pytest.raises(sl.PolicyError) as caught:
        launch(sl.Gpu(machine, **{slot: path}))
    return str(caught.value)


NOT_READY = "w = 0\nwhile ready & bit_of(w):\n    w += 1\nreturn w"


@pytest.mark.parametrize("answer", ["return 99", "return -7", "return 64", "return 1 << 40", NOT_READY])
def test_a_scheduler_picks_a_ready_warp_or_none(answer, tmp_path):
    said = message_of("warp_scheduler", policy(tmp_path, scheduler(answer)))
    found = re.fullmatch(
        r"policy '.*mine\.py': pick answered (-?\d+) in core \d+, scheduler \d+, cycle \d+; "
        r"allowed is a warp slot of the set `ready`, or NO_WARP \(-1\); the set was \{(.*)\}",
        said,
    )
    assert found is not None, said
    assert found[1] not in found[2].split(", ")


WRONG = [
    ("cta_dispatch", "choose(gpu, own, kernel, cycle)", "500", "answered 500 in the GPU, cycle 1; allowed is a core c"),
    ("cta_dispatch", "choose(gpu, own, kernel, cycle)", "-2", "answered -2"),
    ("cta_throttle", "sample(core, own, most, cycle)", "-3", "answered -3 in core 0, cycle 1; allowed is a number of CTAs"),
    ("cta_throttle", "sample(core, own, most, cycle)", "1 << 50", "answered 1125899906842624 in core 0"),
    ("network_arbiter", "choose(contest, own, count, cycle)", "-3", "the request network's crossbar, cycle .* `count` - 1"),
    ("network_arbiter", "choose(contest, own, count, cycle)", "count", r"`count` was \d+"),
    ("dram_scheduler", "choose(channel, own, could, cycle)", "31", "answered 31 in DRAM channel .*a bank of the set `could`"),
    ("dram_scheduler", "choose(channel, own, could, cycle)", "-5", "answered -5 in DRAM channel"),
    ("l1_replacement", "victim(cache, own, first, cycle)", "first + cache.ways", r"in core \d+, .*a line from `first` to"),
    ("l2_replacement", "victim(cache, own, first, cycle)", "-2", r"answered -2 in L2 slice \d+"),
    ("l1_allocation", "bypass(core, own, op, cycle)", "7", "answered 7 in core .*allowed is 0 or 1"),
    ("divergence", "first(warp, own, taken, cycle)", "2", "answered 2 in the GPU"),
]


@pytest.mark.parametrize(("slot", "head", "answer", "words"), WRONG, ids=lambda part: str(part).split("(")[0][:16])
def test_an_impossible_answer_is_refused_with_what_is_allowed(slot, head, answer, words, tmp_path):
    path = policy(tmp_path, f"@hook\ndef {head}:\n    return {answer}\n")
    run = diverge if slot == "divergence" else launch
    device = sl.Gpu(MACHINE, **{slot: path})
    with pytest.raises(sl.PolicyError, match=words):
        run(device)


def test_a_line_that_is_in_flight_may_not_be_evicted(tmp_path):
    text = "@hook\ndef victim(cache, own, first, cycle):\n    return first\n"
    said = message_of("l1_replacement", policy(tmp_path, text))
    assert re.search(r"victim answered \d+ in core \d+, cycle \d+; allowed is a line", said)


def diverge(device):
    body = """mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    add.u32 %r1, %r1, 1; bra.uni END; LOW: add.u32 %r1, %r1, 2; END: add.u32 %r1, %r1, 3;"""
    kernel(device, body)(1, 32, [np.uint64(0)] * 2)


def test_a_machine_goes_on_after_a_policy_was_stopped(tmp_path):
    """Its next launch finds it as new, and is stopped anew; another machine is not concerned."""
    device = sl.Gpu(MACHINE, warp_scheduler=policy(tmp_path, scheduler("return 99")))
    said = []
    for _ in range(2):
        with pytest.raises(sl.PolicyError) as caught:
            launch(device)
        said.append(str(caught.value))
    assert said[0] == said[1]
    launch(sl.Gpu(MACHINE))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("own.greedy = 1", "pick answers nothing; allowed is a warp slot"),
        ("if ready & bit_of(0):\n    return 0", "pick answers nothing on one of its ways; allowed is a warp slot"),
        ("return 0.5 * cycle", "pick answers float64; allowed is a whole number"),
        ("if cycle:\n    raise ValueError('no idea')\nreturn 0",
         r"pick raised ValueError: no idea \(.*mine.py:\d+\), in core \d+, .*, cycle \d+"),
        ("return core.slots[0].agee", r"pick \(mine.py:\d+\): core.slots\[…\] has no field 'agee'; did you mean 'age'\?"),
        ("return own.gredy", r"own has no field 'gredy'; did you mean 'greedy'\?"),
        ("own.simtlab_trouble = 5\nreturn 0", "own has no field 'simtlab_trouble'"),
        ("core.long = np.uint64(0)\nreturn 0", r"\(mine.py:\d+\) writes to core, a record of the machine"),
        ("core.slots[0].age = 5\nreturn 0", r"writes to core.slots\[…\], a record of the machine"),
        ("core.mine[0] += 1\nreturn 0", r"writes to core.mine, a record of the machine"),
        ("slot = core.slots[0]\nslot.age = 5\nreturn 0", r"writes to core.slots\[…\], a record"),
        ("for k in range(2):\n    s = core.slots[k]\n    s.age, own.greedy = 1, 2\nreturn 0", "writes to core.slots"),
        ("change(core)\nreturn 0", r"change \(mine.py:\d+\) writes to core, a record"),
        ("return nobody_knows(core)", r"pick cannot be compiled: NameError: name \'nobody_knows\'"),
        ("return 'five'", "pick answers .*five.*; allowed is a whole number"),
        ("own.table[64] = 1\nreturn 0", r"pick used an index beyond the end of a table.*, in core \d+, .*, cycle \d+"),
        ("own.table[0 - cycle - 99] = 1\nreturn 0", "pick used an index beyond the end of a table"),
        ("return core.slots[cycle + 64].age", "pick used an index beyond the end of a table"),
        ("return oldest(core, np.uint64(0))", "pick used an index beyond the end of a table|pick answered"),
        ("while own.greedy >= 0:\n    own.greedy += 1\nreturn 0", f"pick has gone round its loops {MOST_TURNS:,} times"),
        ("return forever(cycle)", r"pick has gone round its loops .* times without an end \(.*mine.py:\d+\)"),
    ],
)  # fmt: skip
def test_a_wrong_pick_is_told_in_a_sentence(body, words, tmp_path):
    state = """state = np.dtype([("greedy", "i8"), ("table", "i8", (64,))])
from simtlab.compiled import compiled
@compiled
def change(thing):
    thing.long = np.uint64(5)
@compiled
def forever(cycle):
    k = cycle
    while k >= 0:
        k += 1
    return k
"""
    said = message_of("warp_scheduler", policy(tmp_path, scheduler(body, state)))
    assert re.search(words, said), said
    assert "\n" not in said
    assert len(said) < 500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@hook\ndef pick(core, ready):\n    return 0\n", r"pick\(core, ready\) is impossible: a hook has four parameters"),
        ("def pick(core, own, ready, cycle:\n    return 0\n", r"cannot be read: SyntaxError: .*\(mine.py:\d+\)"),
        ("import no_such_module\n", r"cannot be read: ModuleNotFoundError: No module named 'no_such_module' \(mine.py:3\)"),
        ("state = 5\n", "state = 5 is impossible: allowed is np.dtype"),
        ("state = np.dtype('i8')\n", "is impossible: allowed is np.dtype"),
        ("parameters = {'burst': 4}\n", "parameter 'burst' is no field of its state"),
    ],
)
def test_a_file_that_is_no_policy_is_told_in_a_sentence(text, words, tmp_path):
    said = message_of("warp_scheduler", policy(tmp_path, text))
    assert re.search(words, said), said


def test_a_prefetch_outside_of_memory_is_dropped_and_counted(tmp_path):
    text = "@hook\ndef on_load(core, own, op, cycle):\n    prefetch(core, {}, core.ops[op].slot, 0, cycle)\n"
    for address in ("-4096", "1 << 60"):
        run = launch(sl.Gpu(MACHINE, prefetcher=policy(tmp_path, text.format(address))))[0]
        assert run.counters["prefetches_dropped_outside"] == run.counters["prefetches_asked"] > 0


def test_events_may_raise_too(tmp_path):
    text = "@hook\ndef on_load(core, own, op, cycle):\n    raise KeyError(core.ops[op].slot)\n"
    said = message_of("prefetcher", policy(tmp_path, text))
    assert re.search(r"on_load raised KeyError.*mine.py:5\), in core \d+, cycle \d+", said)


def test_a_throttle_without_a_period_is_asked_again_and_again(tmp_path):
    text = """state = np.dtype([("calls", "i8")])
counters = {"calls": ("calls", "Times asked.")}
@hook
def sample(core, own, most, cycle):
    own.calls += 1
    return most
"""
    run = launch(sl.Gpu(MACHINE, cta_throttle=policy(tmp_path, text)))[0]
    assert run.cycles > 2 * 2048
    assert run.counters["cta_throttle.mine.calls"] == 15 * (1 + (run.cycles - 1) // 2048)


def test_a_period_is_at_least_a_cycle(tmp_path):
    text = """state = np.dtype([("period", "i8")])
parameters = {"period": 0}
@hook
def sample(core, own, most, cycle): return 1
"""
    with pytest.raises(sl.SimtlabError, match="period = 0 is impossible: allowed is at least 1 cycle"):
        sl.Gpu(MACHINE, cta_throttle=policy(tmp_path, text))


def test_two_files_of_one_text_are_one_policy(tmp_path):
    """Compiled hooks on disk name their module: it must be the same for both."""
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(IMPORTS + scheduler("return oldest(core, ready)"))
    first, second = (load("warp_scheduler", str(tmp_path / name)) for name in ("one.py", "two.py"))
    assert first.module is second.module
    assert (first.name, second.name) == (str(tmp_path / "one.py"), str(tmp_path / "two.py"))
    assert not re.search("one|two", first.module.__name__)


def own_policies():
    """Of each slot the last is tried every day: with checks every hook is compiled once more."""
    for slot in SLOTS:
        *others, last = available(slot)
        yield from (pytest.param(slot, name, marks=pytest.mark.slow) for name in others)
        yield pytest.param(slot, last)


@pytest.mark.parametrize(("slot", "name"), list(own_policies()), ids=lambda part: part)
def test_simtlabs_own_policies_pass_the_checks(slot, name):
    assert load(slot, name, check=True).addresses != load(slot, name).addresses


def test_a_checked_run_counts_what_an_unchecked_one_counts():
    plain, checked = (launch(sl.Gpu(MACHINE, prefetcher="caps", check_policies=on))[0] for on in (False, True))
    assert (plain.cycles, plain.stalls, plain.counters) == (checked.cycles, checked.stalls, checked.counters)


def test_checks_cost_a_policy_no_cycle_and_no_result(tmp_path):
    """The file of a policy of simtlab's own, loaded from outside: the same counters."""
    from simtlab.policies.load import file_of

    path = tmp_path / "gto.py"
    path.write_text(file_of("warp_scheduler", "gto").read_text())
    inside, outside = (launch(sl.Gpu(MACHINE, warp_scheduler=name))[0] for name in ("gto", str(path)))
    assert (inside.cycles, inside.stalls, inside.counters) == (outside.cycles, outside.stalls, outside.counters)
