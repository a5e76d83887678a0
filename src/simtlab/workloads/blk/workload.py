"""BLK, BlackScholes: prices of European options, each by itself.

Suite: CUDA SDK (`BlackScholes`). Regular, compute-bound.
Three coalesced loads, two coalesced stores and a page of arithmetic between them, with logarithm, exponentials and quotients from
the special function unit; 480 CTAs of 128 threads go through the options in turns.
"""

from math import erf
from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "BLK"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("BlackScholes",)
SIZES = {
    "tiny": {"options": 5000, "ctas": 8},
    "small": {"options": 460_800, "ctas": 720},
    "paper": {"options": 4_000_000, "ctas": 480},  # the SDK's
}
TOLERANCE = {"calls": (1e-4, 1e-3), "puts": (1e-4, 1e-3)}  # a polynomial good to 7.5e-8 times the price, and approximate functions
THREADS = 128
RATE, VOLATILITY = np.float32(0.02), np.float32(0.30)


def inputs(*, options: int, ctas: int, seed: int = 0) -> dict[str, Any]:
    """Stocks from 5 to 30, strikes from 1 to 100, a quarter of a year to ten years, as the SDK's."""
    require(options >= 1 and ctas >= 1, "BLK: there must be 1 option and 1 CTA at least")
    random = np.random.default_rng([seed, options])
    ranges = {"stocks": (5, 30), "strikes": (1, 100), "years": (0.25, 10)}
    return {name: random.uniform(*ends, options).astype(np.float32) for name, ends in ranges.items()} | {"ctas": ctas}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    options = len(data["years"])
    given = [launcher.array(data[name], label=name) for name in ("stocks", "strikes", "years")]
    calls, puts = launcher.zeros(options, "f4", label="calls"), launcher.zeros(options, "f4", label="puts")
    launcher.launch("BlackScholesGPU", data["ctas"], THREADS, [calls, puts, *given, RATE, VOLATILITY, np.int32(options)])
    return {"calls": calls.numpy(), "puts": puts.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The formula in doubles, with the error function for the normal distribution."""
    stock, strike, years = (data[name].astype(np.float64) for name in ("stocks", "strikes", "years"))
    rate, spread = float(RATE), float(VOLATILITY) * np.sqrt(years)
    d1 = (np.log(stock / strike) + rate * years) / spread + spread / 2
    one, two = (0.5 * (1 + np.array([erf(d / np.sqrt(2)) for d in ds])) for ds in (d1, d1 - spread))
    later = strike * np.exp(-rate * years)
    return {"calls": stock * one - later * two, "puts": later * (1 - two) - stock * (1 - one)}
