"""The C functions through which the machine calls a policy's hooks. Each hook has a copy of this module, with its `inner`."""

from typing import Any

import numpy as np
from numba import carray

inner: Any = None  # the compiled hook


def of_record(record, own, argument, cycle):
    result = inner(carray(record, 1)[0], carray(own, 1)[0], argument, cycle)
    return 0 if result is None else result


def of_lines(lines, own, argument, cycle):
    """A set of a cache comes as an array of its lines."""
    result = inner(carray(lines, argument), carray(own, 1)[0], np.int64(argument), cycle)
    return 0 if result is None else result
