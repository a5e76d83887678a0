"""What each stall reason means, and what to look at when it is large."""

from __future__ import annotations

from dataclasses import dataclass

from simtlab.machine.core.kinds import Stall


@dataclass(frozen=True)
class Words:
    """Of a cause of a scheduler's cycle."""

    title: str
    meaning: str
    look_at: str


WORDS: dict[Stall, Words] = {
    Stall.ISSUED: Words("Issued", "The scheduler issued an instruction.", "This is the part that does work: the rest is waiting."),
    Stall.EMPTY: Words(
        "No warp", "The scheduler had no resident warp at all.",
        "Too few CTAs for the cores, CTAs that end at different times, or the start and the end of the launch.",
    ),
    Stall.NO_INSTRUCTION: Words(
        "No Instruction", "Every warp that could go on had an empty instruction buffer.",
        "Misses of the instruction caches (l0i_misses, l1i_misses), the start of a kernel, far jumps, large unrolled loops.",
    ),
    Stall.BRANCH_RESOLVING: Words(
        "Branch Resolving", "Warps waited until the target of a branch was known and could be fetched.",
        "Many short branches: unroll small loops, or let predicates replace short if-bodies.",
    ),
    Stall.WAIT: Words(
        "Wait", "Warps waited for a result with a fixed latency, as of an addition.",
        "Chains of dependent arithmetic: more independent instructions in a thread, or more warps.",
    ),
    Stall.SHORT_SCOREBOARD: Words(
        "Short Scoreboard", "Warps waited for a result from shared memory or from the special function unit.",
        "Bank conflicts (passes per access in the source tables), and many special functions close together.",
    ),
    Stall.LONG_SCOREBOARD: Words(
        "Long Scoreboard", "Warps waited for data from global, local or texture memory.",
        "The loads that the stalled instruction reads; hit rates and latency in the memory chart; more loads in flight.",
    ),
    Stall.BARRIER: Words(
        "Barrier", "Warps waited for others of their CTA at a barrier.",
        "Work that differs between the warps of a CTA, and large CTAs of which few fit in a core.",
    ),
    Stall.MEMBAR: Words(
        "Membar", "Warps waited until their earlier memory accesses were visible to others.",
        "Memory fences in loops, and fences of a wider scope than the algorithm needs.",
    ),
    Stall.MATH_PIPE_THROTTLE: Words(
        "Math Pipe Throttle", "Warps were ready, and the arithmetic unit that they needed took nothing.",
        "The utilisation of each unit in the summary: the busiest one limits; use cheaper operations, or spread them over units.",
    ),
    Stall.LG_THROTTLE: Words(
        "LG Throttle", "Warps were ready with an access to global or local memory, and the load/store unit took no more.",
        "Sectors per request in the source tables: uncoalesced accesses hold the unit. Then why the L1 rejects (memory chart).",
    ),
    Stall.MIO_THROTTLE: Words(
        "MIO Throttle", "Warps were ready, and the queue to shared memory or to the special function unit took no more.",
        "Bank conflicts, and many narrow shared-memory accesses where wider ones would do.",
    ),
    Stall.DISPATCH: Words(
        "Dispatch Stall", "The scheduler still sent an earlier warp through a narrow SIMD, or no operand collector was free.",
        "Register bank conflicts, and the collectors of the configuration; the program alone seldom causes it.",
    ),
    Stall.IMC_MISS: Words(
        "IMC Miss", "Warps waited for a constant that was not in the constant cache.",
        "Constant tables larger than the cache, and indices that differ between threads.",
    ),
    Stall.DRAIN: Words(
        "Drain", "Warps had ended, and their stores were still in flight.",
        "Many uncoalesced stores at the end of a kernel.",
    ),
    Stall.HELD_BACK: Words(
        "Held back", "Warps were kept from issuing by the scheduling policy or a CTA throttle. Nsight Compute has no such reason.",
        "The policy and its settings: try another warp scheduler to see what it costs.",
    ),
    Stall.TEX_THROTTLE: Words(
        "Tex Throttle", "Warps were ready with a texture fetch, and the texture unit took no more.",
        "Fewer fetches, wider ones, or ordinary loads where no filtering is needed.",
    ),
    Stall.REPLAY: Words(
        "Replay", "The issue slot went to a further pass of an instruction issued before.",
        "Bank conflicts and uncoalesced accesses: each further pass takes a slot (issue.replay).",
    ),
}  # fmt: skip


def words_of(cause: str) -> Words:
    """Of a cause as profiles name it: "long_scoreboard"."""
    return WORDS[Stall[cause.upper()]]
