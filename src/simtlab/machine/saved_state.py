"""A machine in the middle of a run, in a file: all that changes as the run goes on, so that another process can go on from there.

Tables lie in the file as the machine has them; parts of them that are all zero take no room. Some of their fields are host
addresses, which are others in another process. Those that a machine is built or made ready with stay as the new machine has them
(`STAYS`), those that it sets as it runs lead to where the same thing lies now (`MOVES`).
"""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.execute.state import window_t
from simtlab.machine.build import Records
from simtlab.machine.cta_sharing import Blocks
from simtlab.machine.kernels import Prepared

LAUNCH = ("code_address", "targets", "entries", "allocations", "arena", "textures", "next_cta_address", "strays", "divergence_hook",
          "turn_hook", "divergence_own", "parameters")  # fmt: skip
KERNEL = (*(f"launch.{name}" for name in LAUNCH), "worker.windows", "worker.counts", "code", "timing", "facts", "pc_counts",
          "loads", "started")  # fmt: skip
CORE = ("warp_scheduler", "prefetcher", "cta_throttle", "l1_allocation", "ldst_queue", "preemption")
CACHE = ("address", "own", "victim_hook", "insert_hook")
CONTEST = ("own", "address", "pool", "hook")
STAYS = {
    "gpu": ["address", "hooks", "watch", "own_clocks", "own_divergence", "own_cta_dispatch", "registers", "shared", "local",
            "blocks.table", *(f"kernel.{name}" for name in KERNEL)],
    "cores": ["address", "own", *(f"own_{slot}" for slot in CORE), *(f"l1d.{name}" for name in CACHE)],
    "slices": ["address", "own", "own_l2_allocation", "own_l2_queue", *(f"cache.{name}" for name in CACHE)],
    "channels": ["address", "own", "choose_hook", "priority_hook"],
    "networks": [f"{kind}.contest.{name}" for kind in ("crossbar", "mesh") for name in CONTEST],
}  # fmt: skip
OF_STATES = "simtlab_trouble"  # of policies
MOVES = ["slots.code", "slots.timing", "slots.facts", "slots.pc_counts", "cause_place"]  # of cores
OF_CTAS = ["registers", "local", "shared_window.host", "shared_window_address", "warps.window", "warps.registers_end",
           "warps.context_address", "warps.local_window_address", "warps.flow_address", "warps.local_window.host",
           "context.parameters", "flow.call.window"]  # fmt: skip
ENDS = "warps.registers_end"  # the address behind something
CHUNK = 1 << 16  # bytes


@dataclass(frozen=True)
class Tables:
    """All that changes as a run goes on, and what its addresses lead to beside."""

    records: Records
    states: Mapping[str, np.ndarray]  # of policies, by slot
    ledgers: Mapping[str, np.ndarray]
    blocks: Sequence[Blocks]
    prepared: Prepared

    def contents(self) -> dict[str, np.ndarray]:
        """What is saved, by name."""
        kept = [one for one in self.prepared.kept if isinstance(one, np.ndarray) and one.dtype != window_t]
        found = {f"records/{name}": np.asarray(getattr(self.records, name)) for name in Records.__dataclass_fields__}
        found |= {f"states/{slot}": np.asarray(state) for slot, state in self.states.items()}
        found |= {f"ledgers/{name}": ledger for name, ledger in self.ledgers.items()}
        found |= {f"kept/{k}": one for k, one in enumerate(kept)}
        found |= {f"counts/{k}": counts for k, counts in enumerate(self.prepared.counts_by_thread)}
        for k, by_thread in enumerate(self.prepared.loads_by_thread):
            found |= {f"loads/{k}/{t}": loads.counted for t, loads in enumerate(by_thread)}
        return found | {f"blocks/{t}": one.table for t, one in enumerate(self.blocks)}

    def places(self) -> dict[str, tuple[int, int]]:
        """Where everything lies that an address may lead to: first byte and length."""
        found = {name: (table.ctypes.data, table.nbytes) for name, table in self.contents().items()}
        kernels = np.asarray(self.records.gpu)["kernel"][0]
        for k, tables in enumerate(self.prepared.fixed):
            found |= {f"{name}/{k}": (table.ctypes.data, table.nbytes) for name, table in tables.items()}
            found[f"parameters/{k}"] = int(kernels[k]["launch"]["parameters"]), 1
        return found


def field_of(table: np.ndarray, way: str) -> np.ndarray:
    """A field of a table of records, perhaps of records within it."""
    for name in way.split("."):
        table = table[name]
    return table


# Files ----------------------------------------------------------------------------------------------------------------


def write_table(archive: zipfile.ZipFile, name: str, table: np.ndarray) -> None:
    """The chunks of a table that are not all zero: how many, which, and their bytes."""
    flat = np.ascontiguousarray(table).reshape(-1).view(np.uint8).reshape(-1)
    whole = len(flat) // CHUNK
    used = flat[: whole * CHUNK].view(np.uint64).reshape(whole, CHUNK // 8).any(axis=1)
    which = np.flatnonzero(np.append(used, flat[whole * CHUNK :].any()))
    with archive.open(name, "w", force_zip64=True) as file:
        file.write(np.array([len(flat), len(which), *which], np.int64).tobytes())
        for k in which.tolist():
            file.write(flat[k * CHUNK : (k + 1) * CHUNK].data)


def read_table(archive: zipfile.ZipFile, name: str, table: np.ndarray) -> None:
    """Fill a table with what was written."""
    flat = table.reshape(-1).view(np.uint8).reshape(-1)
    with archive.open(name) as file:
        length, count = np.frombuffer(file.read(16), np.int64).tolist()
        if length != len(flat):
            raise SimtlabError(f"the saved run's {name} has {length:,} bytes, and here it has {len(flat):,}")
        which = set(np.frombuffer(file.read(8 * count), np.int64).tolist())
        for k in range(-(-len(flat) // CHUNK)):
            chunk = flat[k * CHUNK : (k + 1) * CHUNK]
            if k in which:
                chunk[:] = np.frombuffer(file.read(len(chunk)), np.uint8)
            elif chunk.any():
                chunk[:] = 0


def save(archive: zipfile.ZipFile, tables: Tables) -> dict[str, Any]:
    """Write all tables; what `load` must be told."""
    for name, table in tables.contents().items():
        write_table(archive, f"machine/{name}", table)
    return {"places": tables.places(), "blocks": [len(one.table) for one in tables.blocks]}


def load(archive: zipfile.ZipFile, tables: Tables, told: Mapping[str, Any]) -> None:
    """Bring a machine that was made ready for the same launches to where it was."""
    for one, places in zip(tables.blocks, told["blocks"], strict=True):
        one.start_with(places)
    here, contents = tables.places(), tables.contents()
    if here.keys() != told["places"].keys():
        raise SimtlabError("the saved run is of other launches, or of another number of host threads")
    stays = [(field, field.copy()) for field in stay_of(tables)]
    for name, table in contents.items():
        read_table(archive, f"machine/{name}", table)
    for field, value in stays:
        field[...] = value
    moves = [(*told["places"][name], start) for name, (start, _) in here.items()]
    for field, behind in move_of(tables):
        field[...] = moved(field, moves, behind)


def stay_of(tables: Tables) -> Iterable[np.ndarray]:
    """The fields with addresses that stay as a new machine has them."""
    for name, ways in STAYS.items():
        for way in ways:
            yield field_of(np.asarray(getattr(tables.records, name)), way)
    for state in tables.states.values():
        yield np.asarray(state)[OF_STATES]


class Chosen:
    """Some records' fields, picked by a mask, to be read and written: what is not picked is not touched."""

    def __init__(self, field: np.ndarray, which: np.ndarray) -> None:
        self._field, self._which = field, which

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._field[self._which]

    def __setitem__(self, _: Any, values: np.ndarray) -> None:
        self._field[self._which] = values


def move_of(tables: Tables) -> Iterable[tuple[Any, int]]:
    """The fields with addresses that a machine sets as it runs, and how many bytes behind a thing they lead."""
    cores = np.asarray(tables.records.cores)
    for way in MOVES:
        yield field_of(cores, way), 0
    used = cores["ctas"]["registers"] != 0
    for way in OF_CTAS:
        yield Chosen(field_of(cores["ctas"], way), used), int(way == ENDS)


def moved(addresses: Any, moves: Sequence[tuple[int, int, int]], behind: int) -> np.ndarray:
    """The same addresses where each thing (where it lay, its length) now begins elsewhere."""
    given = np.asarray(addresses) - behind
    found = given.copy()
    for old, length, new in moves:
        inside = (given >= old) & (given < old + length)
        found[inside] = given[inside] + (new - old)
    return found + behind
