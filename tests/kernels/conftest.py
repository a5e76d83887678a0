"""What the tests of kernels share."""

import pytest

from tests.kernels.library import ISAS, new_gpu


@pytest.fixture(scope="module", params=ISAS)
def gpu(request):
    return new_gpu(request.param)
