"""The C functions through which the machine calls a policy's hooks. Each hook has a copy of this module, with what is below."""

from typing import Any

import numpy as np
from numba import carray

from simtlab.compiled import call_and_catch
from simtlab.policies.trouble import tell

inner: Any = None  # the compiled hook
legal: Any = None  # whether the machine takes an answer
instead = 0  # what it is given for one that it does not take
number = 0  # of the hook, among the fields of hooks_t


def of_record(record, own, argument, cycle):
    unit, state = carray(record, 1)[0], carray(own, 1)[0]
    raised, answer = call_and_catch(inner, unit, state, argument, cycle)
    if raised == 0 and legal(unit, argument, answer):
        return answer
    tell(state, number, raised, answer, argument, cycle)
    return instead


def of_cache(record, own, argument, cycle):
    """A cache's hooks are given the number of a line, to count on from."""
    unit, state = carray(record, 1)[0], carray(own, 1)[0]
    raised, answer = call_and_catch(inner, unit, state, np.int64(argument), cycle)
    if raised == 0 and legal(unit, argument, answer):
        return answer
    tell(state, number, raised, answer, argument, cycle)
    return instead
