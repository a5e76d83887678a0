"""The papers' programs in CUDA C++, one folder each, with inputs at three sizes and references that check the results.

    import simtlab as sl
    sl.workloads()                                   # their names
    sl.workload("BFS", size="tiny").run(sl.Gpu())    # run one and check it

`frame` runs them; `graphs`, `images` and `matrices` make inputs; `files` reads a user's own.
"""

import sys
from types import ModuleType


class _Names(ModuleType):
    """`sl.workloads` is this package once something has been imported from it; called, it gives the names all the same."""

    def __call__(self) -> list[str]:
        from simtlab.workloads.frame import workloads

        return workloads()


sys.modules[__name__].__class__ = _Names
