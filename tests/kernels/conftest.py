"""What the tests of kernels share."""

import pytest

from tests.kernels.library import new_gpu


@pytest.fixture(scope="module")
def gpu():
    return new_gpu()
