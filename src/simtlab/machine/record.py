"""Records of hardware state."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def record_t(fields: Sequence[Any]) -> np.dtype:
    """The dtype of a record with these fields, the small ones first: an ARM processor reaches 32 KB from a record's beginning
    in one instruction and anything beyond in three."""
    return np.dtype(sorted(fields, key=lambda field: np.dtype([field]).itemsize), align=True)
