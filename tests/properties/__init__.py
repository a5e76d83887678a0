"""Random programs against plain references. The same ones are drawn each time; a failure shrinks to a small one."""

import os
from typing import Any

from hypothesis import HealthCheck

# SIMTLAB_FUZZ=10 draws ten times as many examples, and new ones each time.
FUZZ = int(os.environ.get("SIMTLAB_FUZZ", "0"))
OPTIONS: dict[str, Any] = {
    "derandomize": not FUZZ, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck),
}  # fmt: skip


def examples(count: int) -> int:
    return count * max(FUZZ, 1)
