"""How things look in a notebook: small tables, made of text that is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simtlab.host.array import DeviceArray
    from simtlab.machine.machine import Machine
    from simtlab.report.profile import LaunchProfile

SHOWN_ELEMENTS = 12
SMALLEST_SHARE = 0.005  # of scheduler cycles, to have a row


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values."""
    cells = (f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
             for name, value in rows)  # fmt: skip
    return f"<table>{''.join(cells)}</table>"


def of_launch(profile: LaunchProfile) -> str:
    """A timed launch: its figures, its stalls, and the advice."""
    from simtlab.report.advice import advice

    rows = [("kernel", profile.kernel), ("grid, block", f"{size(profile.grid)}, {size(profile.block)}"),
            ("cycles", f"{profile.cycles:,} ({profile.seconds * 1e6:,.3g} µs on {profile.machine.name})"),
            ("warp instructions", f"{profile.instructions:,}, {profile.ipc:.3g} a cycle"),
            ("CTAs a core", f"{profile.ctas_per_core}, limited by {profile.limited_by}")]  # fmt: skip
    told = "".join(f"<li>{escape(one.sentence)}</li>" for one in advice(profile))
    return f"{facts(rows)}{stall_bars(profile)}<ol>{told}</ol>"


def stall_bars(profile: LaunchProfile) -> str:
    """Shares of scheduler cycles as bars."""
    total = max(1, profile.scheduler_cycles)
    shares = sorted(((count / total, cause.replace("_", " ")) for cause, count in profile.stalls.items()), reverse=True)
    bar = ("<tr><th style='text-align:left'>{}</th><td style='text-align:right'>{:.1%}</td><td style='width:12em'>"
           "<div style='background:#0072b2;height:0.8em;width:{:.1f}%'></div></td></tr>")  # fmt: skip
    rows = (bar.format(escape(cause), share, 100 * share) for share, cause in shares if share >= SMALLEST_SHARE)
    return f"<table><caption>scheduler cycles</caption>{''.join(rows)}</table>"


def of_array(array: DeviceArray) -> str:
    """An array in device memory: what it is, and its first elements."""
    elements = array.numpy().ravel()[:SHOWN_ELEMENTS].tolist()
    more = " …" if array.size > SHOWN_ELEMENTS else ""
    return facts([("shape", array.shape), ("type", array.dtype), ("bytes", f"{array.nbytes:,}"), ("address", f"{array.address:#x}"),
                  ("first elements", ", ".join(map(str, elements)) + more)])  # fmt: skip


def machine_facts(machine: Machine) -> list[tuple[str, str]]:
    """A machine in a few lines."""
    config = machine.config
    policies = ", ".join(f"{slot} {policy.name}" for slot, policy in machine.policies.items())
    return [
        ("machine", config.name),
        ("cores", f"{config.core.cores} at {config.clocks.core_mhz:g} MHz, {config.issue.schedulers} schedulers each"),
        ("warps a core", str(config.core.max_warps)),
        ("L2", f"{config.l2.slices} slices of {config.l2.bytes >> 10} KiB"),
        ("DRAM", f"{config.dram.channels} channels, {config.peak_dram_bandwidth / 1e9:,.0f} GB/s"),
        ("policies", policies),
    ]


def size(shape: Sequence[int]) -> str:
    """Without the ones at the end: 4096, 64x64."""
    kept = list(shape)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return "x".join(map(str, kept))
