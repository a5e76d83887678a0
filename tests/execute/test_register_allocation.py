"""Registers a thread needs, over all kernels of the tests: close to what is live at once."""

import pytest

import simtlab as sl
from tests.kernels.library import SOURCES

MARGIN = 3  # registers beyond those live at once: alignment of 64-bit pairs


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_few_more_registers_than_are_live_at_once(path):
    module = sl.Gpu().compile(path)
    for name in module.kernels:
        for function, code in module[name].program.functions.items():
            allocation = code.allocation
            assert allocation.most_live <= allocation.registers <= allocation.most_live + MARGIN, (name, function)
