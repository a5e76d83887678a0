"""Every instruction that the public suites use is in the table."""

import csv
from pathlib import Path

import simtlab.isa.families  # noqa: F401  fills the table
from simtlab.isa.table import find

CENSUS = Path(__file__).parents[1] / "data" / "ptx_census.csv"
TENSOR_CORES = ("wmma.", "mma.", "ldmatrix.", "cp.async.")  # not supported yet: they give the unknown-instruction error


def test_every_spelling_of_the_suites_is_supported():
    with CENSUS.open() as file:
        rows = list(csv.DictReader(file))
    wanted = [
        row["opcode"]
        for row in rows
        if int(row["paper_suite_kernels"]) >= 1 or int(row["cuda_samples_kernels"]) >= 2
    ]
    assert len(wanted) == 456
    missing = [spelling for spelling in wanted if not find(spelling) and not spelling.startswith(TENSOR_CORES)]
    assert missing == []
