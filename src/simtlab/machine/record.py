"""Records of hardware state, laid out for the host's caches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simtlab.address_space import untouched_bytes

CACHE_LINE = 64  # bytes, of the host


def record_t(fields: Sequence[Any]) -> np.dtype:
    """The dtype of a record with these fields, the small ones first: an ARM processor reaches 32 KB from a record's beginning
    in one instruction and anything beyond in three. Fields as long as a cache line of the host, and the record, begin with one."""
    return _laid_out(sorted(_alone(fields), key=lambda field: field.itemsize))


def record_in_order(fields: Sequence[Any]) -> np.dtype:
    """The same with the fields as they are given: what is used together stands together."""
    return _laid_out(_alone(fields))


def _alone(fields: Sequence[Any]) -> list[np.dtype]:
    return [np.dtype([field], align=True) for field in fields]


def _laid_out(fields: list[np.dtype]) -> np.dtype:
    offsets, end = [], 0
    for field in fields:
        offsets.append(_next(end, CACHE_LINE if field.itemsize >= CACHE_LINE else field.alignment))
        end = offsets[-1] + field.itemsize
    names, formats = [field.names[0] for field in fields if field.names], [field[0] for field in fields]
    layout = {"names": names, "formats": formats, "offsets": offsets, "itemsize": _next(end, CACHE_LINE)}
    return np.dtype(layout, align=True)  # type: ignore[call-overload]


def _next(place: int, multiple: int) -> int:
    return -(-place // multiple) * multiple


def new_records(count: int, dtype: np.dtype) -> Any:
    """That many records, all zero, the first at the beginning of a cache line."""
    return untouched_bytes(count * dtype.itemsize).view(dtype).view(np.recarray)
