"""Matrices in compressed sparse rows, as sparse programs take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simtlab.workloads.errors import require


@dataclass(frozen=True)
class Matrix:
    """Row i has `values[offsets[i]:offsets[i + 1]]` in the columns `columns[...]`, in rising order."""

    shape: tuple[int, int]
    offsets: np.ndarray  # i4, rows + 1
    columns: np.ndarray  # i4
    values: np.ndarray  # f4

    def dense(self) -> np.ndarray:
        """All elements, f4."""
        full = np.zeros(self.shape, np.float32)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.offsets))
        full[rows, self.columns] = self.values
        return full


def from_entries(shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Matrix:
    """A matrix of these entries, each place given once."""
    order = np.lexsort([columns, rows])
    offsets = np.zeros(shape[0] + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=offsets[1:])
    return Matrix(shape, offsets, np.asarray(columns, np.int32)[order], np.asarray(values, np.float32)[order])


def square_with_pivots(who: str, what: str, matrix: Matrix) -> np.ndarray:
    """All elements of a matrix that can be eliminated without exchanging rows; WorkloadError for any other."""
    full = matrix.dense()
    rows, columns = matrix.shape
    require(
        rows == columns and rows >= 2, f"{who}: the matrix has {rows} rows and {columns} columns; it must be square, 2 at least"
    )
    left = full.astype(np.float64)
    for k in range(rows):
        pivot = left[k, k]
        require(bool(pivot), f"{who}: the pivot of row {k} is 0; this {what} does not exchange rows")
        left[k + 1 :, k:] -= np.outer(left[k + 1 :, k] / pivot, left[k, k:])
    return full
