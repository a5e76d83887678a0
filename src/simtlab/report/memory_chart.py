"""The memory chart: what went from the kernel through the caches to DRAM, as a drawing and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simtlab.machine.counters import COUNTERS
from simtlab.machine.ratios import RATIOS
from simtlab.report.figures import dram_bytes, l1_hit_rate, l2_hit_rate, share
from simtlab.report.markup import Markup, byte_count, element, grouped, join, number_cell, percent, row, table
from simtlab.report.profile import InstructionProfile, LaunchProfile

TOP, STEP, SMALL = 46, 78, 58  # of the rows of boxes
KERNEL_X, KIND_X, CACHE_X, NETWORK_X, L2_X = 4, 170, 432, 756, 1004
KERNEL_W, KIND_W, CACHE_W, NETWORK_W, L2_W = 76, 168, 212, 144, 196
TRIP = ("inject", "request_network", "l2", "dram", "reply_network")
DRAWN = (
    "l1_hits", "l1_hits_reserved", "l1_misses", "l1_fail_tag", "l1_fail_mshr", "l1_fail_network", "l1c_misses", "l1t_misses",
    "l1i_misses", "request_packets", "request_flits", "reply_packets", "reply_flits", "l2_hits", "l2_hits_reserved", "l2_misses",
    "l2_writes", "l2_atomics", "l2_stalls", "dram_reads", "dram_writes", "dram_read_accesses", "dram_write_accesses",
    "dram_row_hits", "dram_row_misses", "dram_row_conflicts", "dram_queue_cycles",
)  # fmt: skip
UNITS = {counter.name: counter.unit for counter in COUNTERS}
WIDTH, HEIGHT = L2_X + L2_W + 8, TOP + 7 * STEP


@dataclass(frozen=True)
class Kind:
    """One kind of access that the kernel made."""

    name: str
    requests: int  # warp instructions
    made: int  # sectors or lines, passes of shared memory, fetches
    unit: str


def kinds(profile: LaunchProfile) -> list[Kind]:
    """By the instructions of the kernel; addresses whose memory only shows at run time are with the global ones."""
    count = profile.counters

    def of(name: str, unit: str, chosen: Sequence[InstructionProfile]) -> Kind:
        made = sum(row.passes if unit == "passes" else row.accesses for row in chosen)
        return Kind(name, sum(row.issued for row in chosen), made, unit)

    through_l1 = [row for row in profile.rows if row.memory in ("global", "local", "generic", "surface")]
    atomic = [row for row in through_l1 if row.role == "atomic"]
    plain = [row for row in through_l1 if row.role != "atomic"]
    by_memory = {name: [row for row in profile.rows if row.memory == name] for name in ("shared", "constant", "texture")}
    return [
        of("Global, local loads", "sectors", [row for row in plain if row.is_load]),
        of("Global, local stores", "sectors", [row for row in plain if not row.is_load]),
        of("Atomics", "sectors", atomic),
        of("Shared memory", "passes", by_memory["shared"]),
        of("Constant loads", "words", by_memory["constant"]),
        of("Texture fetches", "lines", by_memory["texture"]),
        Kind("Instruction fetch", profile.instructions, fetches(count), "fetches"),
    ]


@dataclass(frozen=True)
class Box:
    """A part of the machine."""

    title: str
    x: int
    y: int
    width: int
    height: int
    lines: Sequence[str] = field(default=())


def short(count: float) -> str:
    """A number for a narrow place."""
    for factor, letter in ((1e9, "G"), (1e6, "M")):
        if abs(count) >= factor:
            return f"{count / factor:.3g} {letter}"
    return grouped(count if float(count).is_integer() else round(count, 1))


def per_trip(profile: LaunchProfile, name: str) -> str:
    """Mean cycles of a round trip in one part."""
    mean = share(profile.counters[name], profile.counters["round_trips"])
    return "–" if mean is None else f"{mean:.1f}"


def fetches(count: Mapping[str, int]) -> int:
    """Of instructions, from the first cache that there is: an L0 also prefetches lines of the L1, which are no fetches."""
    return count["l0i_hits"] + count["l1i_misses"] if count["l0i_hits"] else count["l1i_hits"] + count["l1i_misses"]


def cache_boxes(profile: LaunchProfile) -> list[Box]:
    count = profile.counters
    constant = share(count["l1c_hits"], count["l1c_hits"] + count["l1c_misses"])
    texture = share(count["l1t_hits"], count["l1t_hits"] + count["l1t_misses"])
    fetch = share(fetches(count) - count["l1i_misses"], fetches(count))
    shared = [row for row in profile.rows if row.memory == "shared"]
    a_request = share(sum(row.passes for row in shared), sum(row.issued for row in shared))
    return [
        Box("L1", CACHE_X, TOP, CACHE_W, 2 * STEP + SMALL, [
            f"hit rate {percent(l1_hit_rate(count))}", f"hits {short(count['l1_hits'])}",
            f"merged with a miss {short(count['l1_hits_reserved'])}", f"misses {short(count['l1_misses'])}", "rejected, cycles:",
            f"  all ways in flight {short(count['l1_fail_tag'])}", f"  no MSHR free {short(count['l1_fail_mshr'])}",
            f"  network full {short(count['l1_fail_network'])}",
        ]),
        Box("Shared memory", CACHE_X, TOP + 3 * STEP, CACHE_W, SMALL,
            [f"{'–' if a_request is None else f'{a_request:.2f}'} passes an access"]),
        Box("Constant cache", CACHE_X, TOP + 4 * STEP, CACHE_W, SMALL, [f"hit rate {percent(constant)}"]),
        Box("Texture cache", CACHE_X, TOP + 5 * STEP, CACHE_W, SMALL, [f"hit rate {percent(texture)}"]),
        Box("Instruction cache", CACHE_X, TOP + 6 * STEP, CACHE_W, SMALL, [f"hit rate {percent(fetch)}"]),
    ]  # fmt: skip


def outer_boxes(profile: LaunchProfile) -> list[Box]:
    """Beyond the core."""
    count, used = profile.counters, profile.utilisation
    queue = RATIOS["dram_queueing"].of(count)
    rows = count["dram_row_hits"] + count["dram_row_misses"] + count["dram_row_conflicts"]
    return [
        Box("Network", NETWORK_X, TOP, NETWORK_W, 6 * STEP + SMALL, [
            f"busy to L2 {percent(used.get('request_network'))}", f"busy back {percent(used.get('reply_network'))}", "mean cycles:",
            f"  leave core {per_trip(profile, 'latency_inject_cycles')}",
            f"  to L2 {per_trip(profile, 'latency_request_network_cycles')}",
            f"  back {per_trip(profile, 'latency_reply_network_cycles')}",
        ]),
        Box("L2", L2_X, TOP, L2_W, 2 * STEP + SMALL + 16, [
            f"hit rate of reads {percent(l2_hit_rate(count))}", f"hits {short(count['l2_hits'])}",
            f"merged with a miss {short(count['l2_hits_reserved'])}", f"misses {short(count['l2_misses'])}",
            f"writes {short(count['l2_writes'])}", f"atomics {short(count['l2_atomics'])}",
            f"stalled L2 cycles {short(count['l2_stalls'])}", f"mean cycles {per_trip(profile, 'latency_l2_cycles')}",
        ]),
        Box("DRAM", L2_X, TOP + 4 * STEP, L2_W, 2 * STEP + SMALL, [
            f"bus {percent(used.get('dram_bus'))}", f"read {short(count['dram_reads'])}, written {short(count['dram_writes'])}",
            f"row hits {percent(share(count['dram_row_hits'], rows))}", f"row conflicts {short(count['dram_row_conflicts'])}",
            f"queue {'–' if queue is None else f'{queue:.1f}'} DRAM cycles",
            f"mean cycles {per_trip(profile, 'latency_dram_cycles')}",
        ]),
    ]  # fmt: skip


def box_svg(box: Box) -> Markup:
    lines = [element("text", box.title, x=box.x + 10, y=box.y + 21, class_="title")]
    for k, text in enumerate(box.lines):
        indent = 18 if text.startswith("  ") else 10
        lines.append(element("text", text.strip(), x=box.x + indent, y=box.y + 42 + 19 * k))
    return element("g", element("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=5), *lines, class_="box")


def arrow(start: tuple[int, int], end: tuple[int, int], label: str, under: str = "", idle: bool = False) -> Markup:
    """A level or upright arrow with its numbers."""
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) // 2
    line = element("line", x1=x1, y1=y1, x2=x2, y2=y2)
    along, across = ((0, 10 if y1 < y2 else -10), (5, 0)) if x1 == x2 else ((10 if x1 < x2 else -10, 0), (0, 5))
    base = (x2 - along[0], y2 - along[1])
    corners = [(x2, y2), (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])]
    head = element("polygon", points=" ".join(f"{x},{y}" for x, y in corners))
    if x1 == x2:
        side, at = ("end", x1 - 8) if y2 > y1 else ("start", x1 + 8)
        texts = [element("text", label, x=at, y=(y1 + y2) // 2 - 4, text_anchor=side),
                 element("text", under, x=at, y=(y1 + y2) // 2 + 13, text_anchor=side)]  # fmt: skip
    else:
        texts = [element("text", label, x=middle, y=y1 - 6, text_anchor="middle"),
                 element("text", under, x=middle, y=y1 + 16, text_anchor="middle")]  # fmt: skip
    return element("g", line, head, *texts, class_="arrow idle" if idle else "arrow")


def centre(k: int) -> int:
    """Of the k-th row of boxes."""
    return TOP + k * STEP + SMALL // 2


def arrows(profile: LaunchProfile) -> list[Markup]:
    count, found = profile.counters, kinds(profile)
    drawn = []
    for k, kind in enumerate(found):
        y = centre(k)
        drawn.append(arrow((KERNEL_X + KERNEL_W, y), (KIND_X - 2, y), short(kind.requests), "requests" if k < 6 else "instructions",
                           not kind.requests))  # fmt: skip
        drawn.append(arrow((KIND_X + KIND_W, y), (CACHE_X - 2, y), short(kind.made), kind.unit, not kind.made))
    out = CACHE_X + CACHE_W
    stores = count["l2_writes"] + count["l2_atomics"]
    for k, (number, unit) in {0: (count["l1_misses"], "misses"), 1: (stores, "writes, atomics"), 4: (count["l1c_misses"], "misses"),
                              5: (count["l1t_misses"], "misses"), 6: (count["l1i_misses"], "misses")}.items():  # fmt: skip
        drawn.append(arrow((out, centre(k)), (NETWORK_X - 2, centre(k)), short(number), unit, not number))
    flit, left, right = profile.machine.network.flit_bytes, NETWORK_X + NETWORK_W, L2_X
    drawn.append(arrow((left, centre(0)), (right - 2, centre(0)), f"{short(count['request_packets'])}",
                       byte_count(flit * count["request_flits"]), not count["request_packets"]))  # fmt: skip
    drawn.append(arrow((right, centre(1)), (left + 2, centre(1)), f"{short(count['reply_packets'])}",
                       byte_count(flit * count["reply_flits"]), not count["reply_packets"]))  # fmt: skip
    machine = profile.machine
    a_burst = share(dram_bytes(machine, count), count["dram_read_accesses"] + count["dram_write_accesses"]) or 0
    lower, upper, middle = TOP + 4 * STEP, TOP + 2 * STEP + SMALL + 16, L2_X + L2_W // 2
    drawn.append(arrow((middle - 8, upper), (middle - 8, lower - 2), "written", byte_count(a_burst * count["dram_write_accesses"]),
                       not count["dram_writes"]))  # fmt: skip
    drawn.append(arrow((middle + 8, lower), (middle + 8, upper + 2), "read", byte_count(a_burst * count["dram_read_accesses"]),
                       not count["dram_reads"]))  # fmt: skip
    return drawn


def memory_part(profile: LaunchProfile) -> Markup:
    """The drawing and its numbers."""
    found = kinds(profile)
    boxes = [Box("Kernel", KERNEL_X, TOP, KERNEL_W, 6 * STEP + SMALL)]
    boxes += [Box(kind.name, KIND_X, TOP + k * STEP, KIND_W, SMALL) for k, kind in enumerate(found)]
    boxes += [*cache_boxes(profile), *outer_boxes(profile)]
    drawing = element(
        "svg", element("title", f"Memory chart of {profile.kernel}"),
        element("desc", "From the kernel through caches and network to L2 and DRAM. The table below has the same numbers."),
        *map(box_svg, boxes), *arrows(profile), role="img", viewBox=f"0 {TOP - 8} {WIDTH} {HEIGHT - TOP}", class_="memory",
    )  # fmt: skip
    note = (
        "Requests are warp instructions; what they make of it are sectors (lines where the L1 has no sectors), passes of shared "
        "memory, or lines. Mean cycles are parts of the round trip of a read or atomic, in core cycles. Writes and atomics are as "
        "the L2 counts them. Between network and L2 are packets and their bytes. Dashed: nothing went there."
    )
    return join([element("p", note, class_="note"), element("div", drawing, class_="scroll", role="region",
                                                            aria_label="Memory chart"), numbers(profile)])  # fmt: skip


def numbers(profile: LaunchProfile) -> Markup:
    """The same as the drawing has, for those who do not see it, in full."""
    count = profile.counters
    rows = []
    for kind in kinds(profile):
        rows += [row(f"{kind.name}: requests", number_cell(kind.requests), "warp instructions"),
                 row(f"{kind.name}: made", number_cell(kind.made), kind.unit)]  # fmt: skip
    for box in [*cache_boxes(profile), *outer_boxes(profile)]:
        rates = [line.strip() for line in box.lines if "%" in line or "–" in line or "queue" in line or "passes" in line]
        rows += [row(f"{box.title}: {line}", "", "") for line in rates]
    rows += [row(element("code", name), number_cell(count[name]), UNITS[name]) for name in DRAWN]
    for part in TRIP:
        name = f"Round trip: {part.replace('_', ' ')}"
        rows.append(row(name, number_cell(per_trip(profile, f"latency_{part}_cycles")), "core cycles, mean"))
    return element("details", element("summary", "The numbers of the chart as a table"),
                   table("Memory traffic", ["What", element("th", "Count", scope="col", class_="n"), "Unit"], rows))  # fmt: skip
