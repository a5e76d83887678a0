"""The stages of a Mars job on the host's side: what is launched for a map, a prefix sum, a sort, a grouping.

The kernels are in `stages.cuh` and `tasks.cuh`, which a program's `kernel.cu` includes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

THREADS = 256
WARP = 32


def scan(launcher: Any, values: Any, n: int) -> tuple[Any, int]:
    """The sums before each element, and the sum of all."""
    blocks = -(-n // (2 * THREADS))
    sums, places = launcher.zeros(blocks, np.int32), launcher.zeros(n, np.int32)
    launcher.launch("ScanBlocks", blocks, THREADS, [values, places, sums, n])
    if blocks == 1:
        return places, int(sums[0])
    above, total = scan(launcher, sums, blocks)
    launcher.launch("ScanAddSums", blocks, THREADS, [places, above, n])
    return places, total


def sort(launcher: Any, keys: Any, entries: Any, n: int, last_key: int = -1) -> None:
    """A bitonic sort of the directory; distances within a CTA's entries are done in shared memory, several in one launch.

    Entries beyond the `n` records get `last_key` as their key's place, one that goes after all others.
    """
    length = len(entries)
    width = min(length, THREADS)
    grid = length // width
    if length > n:
        launcher.launch("SortPad", -(-(length - n) // THREADS), THREADS, [entries, last_key, n, length])
    launcher.launch("SortShared", grid, width, [keys, entries, 2, width, width // 2])
    sorted_length = 2 * THREADS
    while sorted_length <= length:
        distance = sorted_length // 2
        while distance >= THREADS:
            launcher.launch("SortGlobal", grid, THREADS, [keys, entries, sorted_length, distance])
            distance //= 2
        launcher.launch("SortShared", grid, THREADS, [keys, entries, sorted_length, sorted_length, distance])
        sorted_length *= 2


def group(launcher: Any, keys: Any, entries: Any, n: int) -> tuple[Any, int]:
    """Where each run of equal keys begins and ends."""
    grid = -(-n // THREADS)
    starts = launcher.zeros(n, np.int32)
    launcher.launch("GroupMark", grid, THREADS, [keys, entries, starts, n])
    places, groups = scan(launcher, starts, n)
    ranges = launcher.zeros((groups, 2), np.int32)
    launcher.launch("GroupRanges", grid, THREADS, [starts, places, ranges, n])
    return ranges, groups


def directory_of(records: int, key_bytes: int, val_bytes: int) -> np.ndarray:
    """Entries of records of one size, one after the other: key offset, key bytes, value offset, value bytes."""
    at = np.arange(records)
    columns = [key_bytes * at, np.full(records, key_bytes), val_bytes * at, np.full(records, val_bytes)]
    return np.stack(columns, axis=1).astype(np.int32)


def map_records(launcher: Any, keys: Any, vals: Any, directory: Any, shared: int = 0) -> tuple[Any, Any, Any, int]:
    """Count, scan, emit, one input record a task: keys, values, their directory, and how many records there are.

    The directory has a power of two of entries, as the sort needs it. `shared` bytes of each task are for what it emits.
    """
    tasks = len(directory)
    grid = -(-tasks // THREADS)
    sizes = [launcher.zeros(tasks, np.int32) for _ in range(3)]
    launcher.launch("MapperCount", grid, THREADS, [keys, vals, directory, *sizes, tasks, 1, tasks])
    places, output = _outputs(launcher, sizes, tasks)
    written, emitted = launcher.zeros((tasks, 2), np.int32), launcher.zeros(tasks, np.int32)
    out_keys, out_vals, out_directory, records = output
    arguments = [keys, vals, directory, *places, written, out_keys, out_vals, out_directory, emitted, tasks, 1, tasks]
    launcher.launch("Mapper", grid, THREADS, arguments, shared=shared * THREADS)
    return out_keys, out_vals, out_directory, records


def reduce_groups(launcher: Any, keys: Any, vals: Any, directory: Any, ranges: Any, groups: int) -> tuple[Any, Any, Any, int]:
    """Count, scan, emit, one group a task; as `map_records`."""
    grid = -(-groups // THREADS)
    sizes = [launcher.zeros(groups, np.int32) for _ in range(3)]
    launcher.launch("ReducerCount", grid, THREADS, [keys, vals, directory, ranges, *sizes, groups, 1, groups])
    places, output = _outputs(launcher, sizes, groups)
    written, emitted = launcher.zeros((groups, 2), np.int32), launcher.zeros(groups, np.int32)
    arguments = [keys, vals, directory, ranges, *places, *output[:3], written, emitted, groups, 1, groups]
    launcher.launch("Reducer", grid, THREADS, arguments)
    return output


def _outputs(launcher: Any, sizes: list[Any], tasks: int) -> tuple[list[Any], tuple[Any, Any, Any, int]]:
    """Where each task writes, and memory for all that they write."""
    places, totals = zip(*(scan(launcher, size, tasks) for size in sizes), strict=True)
    keys, vals = (launcher.zeros(total, np.uint8) for total in totals[:2])
    directory = launcher.zeros((max(WARP, 1 << (totals[2] - 1).bit_length()), 4), np.int32)
    return list(places), (keys, vals, directory, totals[2])


def sort_and_group(launcher: Any, keys: Any, vals: Any, directory: Any, n: int) -> tuple[Any, Any, Any, int]:
    """Keys and values in the order of the keys, and where each run of equal keys begins and ends."""
    sort(launcher, keys, directory, n)
    vals = copy_chunks(launcher, vals, directory, n, True)
    keys = copy_chunks(launcher, keys, directory, n, False)
    return keys, vals, *group(launcher, keys, directory, n)


def copy_chunks(launcher: Any, chunks: Any, directory: Any, n: int, of_values: bool) -> Any:
    """Keys or values in the order of their directory, which is told their new places."""
    grid = -(-n // THREADS)
    sizes = launcher.zeros(n, np.int32)
    launcher.launch("ChunkSizes", grid, THREADS, [directory, sizes, int(of_values), n])
    places, total = scan(launcher, sizes, n)
    copied = launcher.zeros(total, np.uint8)
    launcher.launch("CopyChunks", grid, THREADS, [chunks, directory, places, copied, int(of_values), n])
    return copied
