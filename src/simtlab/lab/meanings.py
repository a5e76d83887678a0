"""Units and meanings of what a record counts."""

from functools import cache

STALLS = {
    "issued": "an instruction was issued",
    "empty": "there was no warp to schedule",
    "no_instruction": "no warp had a decoded instruction",
    "branch_resolving": "a branch was not resolved yet",
    "wait": "a fixed-latency result was not there yet",
    "short_scoreboard": "a result from shared memory or the special function unit was not there yet",
    "long_scoreboard": "a result from global, local or texture memory was not there yet",
    "barrier": "the warps stood at a barrier",
    "membar": "a memory fence was not over",
    "math_pipe_throttle": "the unit for it was busy",
    "lg_throttle": "the load/store unit took no more, for global or local memory",
    "mio_throttle": "the load/store unit took no more, for shared memory, or the special function unit did not",
    "dispatch": "no collector unit was free",
    "imc_miss": "a constant was not in its cache",
    "drain": "the warp had ended and its stores were under way",
    "held_back": "the scheduling policy or the throttle held back",
    "tex_throttle": "the texture unit took no more",
    "replay": "the slot went to another pass of an instruction issued before",
}


@cache
def meanings() -> dict[str, tuple[str, str]]:
    """Every counter's unit and what it counts."""
    from simtlab.machine.core.kinds import Stall
    from simtlab.machine.counters import COUNTERS
    from simtlab.machine.energy import COMPONENTS

    causes = [cause.name.lower() for cause in Stall]
    stalls = {f"stall_{cause}": ("scheduler cycles", f"Cycles in which {STALLS.get(cause, cause)}.") for cause in causes}
    joules = {f"energy_{part}": ("joules", f"Energy, by component: {part.replace('_', ' ')}.") for part in COMPONENTS}
    named = {counter.name: (counter.unit, counter.meaning) for counter in COUNTERS}
    time = {
        "cycles": ("core cycles", "From launch to end, all launches together."),
        "machine_seconds": ("seconds", "The same as time on the machine, whose clocks a policy may change; of launches side by "
                            "side in streams the longest."),
        "beside_cycles": ("core cycles", "Of the program beside: from the arrival of each of its launches to its end, added up."),
    }  # fmt: skip
    sampled = {
        "sampled_share": ("share", "Of a sampled run, warp instructions that were simulated in detail; the rest is extrapolated."),
        "sampled_error": ("share", "Of a sampled run's cycles, half their 95% confidence interval."),
    }
    return {**time, **named, **stalls, **joules, **sampled}
