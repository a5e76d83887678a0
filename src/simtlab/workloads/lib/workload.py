"""LIB, LIBOR Monte Carlo: swaptions priced on paths of forward rates, and how the price moves with a rate.

Suite: ISPASS (GPGPU-Sim's benchmarks of 2009, after M. Giles). Regular, memory-bound.
All of a path is in local memory: 80 rates that every period reads and writes, and for the sensitivities 41 times as many words,
14 KB a thread, written forwards and read backwards. Loads and stores are coalesced, as local memory is, and nothing stays in a
cache.
The suite's paths are all alike; here each has shocks of its own (`spread` around the suite's 0.3), at no load more. Its 64 CTAs
are the program's own at every size but the smallest, so there is never a second wave. Slopes are taken before their rates are
overwritten, which the suite does the other way round.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "LIB"
SUITE = "ISPASS 2009"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("libor",)
SIZES = {
    "tiny": {"paths": 100, "ctas": 2, "rates": 12, "periods": 6},
    "small": {"paths": 4096, "ctas": 64, "rates": 28, "periods": 14},
    "paper": {"paths": 4096, "ctas": 64, "rates": 80, "periods": 40},  # the suite's
}
# Singles, and exponentials and quotients of the special function unit, multiplied up over all periods.
TOLERANCE = dict.fromkeys(("values", "values_with_slopes", "slopes"), (0.001, 0.001))
THREADS = 64
MOST_RATES, MOST_PERIODS = 80, 40  # as in kernel.cu
DELTA, SHOCK, FIRST_RATE = 0.25, 0.3, 0.05  # years of a period; shocks and rates that a path begins with, as the suite's
MATURITIES = np.repeat([4, 8, 20, 28, 40], 3)  # of 40 periods
SWAPRATES = np.tile([0.045, 0.05, 0.055], 5)


def inputs(*, paths: int, ctas: int, rates: int, periods: int, spread: float = 0.5, seed: int = 0) -> dict[str, Any]:
    """Volatilities of 20% at first, which are the suite's, for seed 0; any other seed's lie around that."""
    require(paths >= 1 and ctas >= 1, "LIB: there must be 1 path and 1 CTA at least")
    require(1 <= periods <= MOST_PERIODS, f"LIB: periods is {periods}; it must be from 1 to {MOST_PERIODS}")
    most = min(MOST_RATES, periods + MOST_PERIODS)
    require(periods < rates <= most, f"LIB: rates is {rates}; with {periods} periods it must be from {periods + 1} to {most}")
    random = np.random.default_rng([seed, rates])
    volatility = np.full(rates, 0.2) + (0.02 * random.standard_normal(rates) if seed else 0)
    return {
        "lambda": volatility.astype(np.float32),
        "maturities": np.ceil(MATURITIES / MOST_PERIODS * (rates - periods)).astype(np.int32),
        "swaprates": SWAPRATES.astype(np.float32),
        "paths": paths,
        "ctas": ctas,
        "periods": periods,
        "spread": spread,
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    rates, paths = len(data["lambda"]), data["paths"]
    for name, number in (("rates", rates), ("periods", data["periods"]), ("paths", paths)):
        launcher.module.variable(name, "i4")[...] = np.array([number], np.int32)
    for name, real in (("delta", DELTA), ("shock", SHOCK), ("spread", data["spread"])):
        launcher.module.variable(name, "f4")[...] = np.array([real], np.float32)
    launcher.module.variable("maturities", "i4")[...] = data["maturities"]
    launcher.module.variable("swaprates", "f4")[...] = data["swaprates"]
    launcher.module.variable("lambda", "f4")[:rates] = data["lambda"]
    names = ("values", "values_with_slopes", "slopes")
    values, again, slopes = (launcher.zeros(paths, "f4", label=name) for name in names)
    launcher.launch("Pathcalc_Portfolio_KernelGPU2", data["ctas"], THREADS, [values])
    launcher.launch("Pathcalc_Portfolio_KernelGPU", data["ctas"], THREADS, [again, slopes])
    return dict(zip(names, (values.numpy(), again.numpy(), slopes.numpy()), strict=True))


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """All paths at once in doubles; the derivative is the imaginary part that a tiny imaginary step of the last rate causes."""
    step = 1e-30
    paths, rates = data["paths"], len(data["lambda"])
    first = np.full(rates, FIRST_RATE, complex)
    first[-1] += 1j * step
    shocks = SHOCK + data["spread"] * (2 * np.arange(paths) + 1 - paths) / paths
    value = portfolio(followed(first, shocks, data), data)
    return {"values": value.real, "values_with_slopes": value.real, "slopes": value.imag / step}


def followed(first: np.ndarray, shocks: np.ndarray, data: dict[str, Any]) -> np.ndarray:
    """Forward rates after all periods, one row a path; a rate whose time has come stays."""
    rate = np.tile(first, (len(shocks), 1))
    for n in range(data["periods"]):
        moving = rate[:, n + 1 :]
        volatility = data["lambda"][: moving.shape[1]].astype(np.float64)
        drift = np.cumsum(DELTA * volatility * moving / (1 + DELTA * moving), axis=1)
        change = DELTA * volatility * (drift - volatility / 2) + volatility * np.sqrt(DELTA) * shocks[:, None]
        rate[:, n + 1 :] = moving * np.exp(change)
    return rate


def portfolio(rate: np.ndarray, data: dict[str, Any]) -> np.ndarray:
    growth = 1 + DELTA * rate
    bond = np.cumprod(1 / growth[:, data["periods"] :], axis=1)
    annuity = DELTA * np.cumsum(bond, axis=1)
    mature = data["maturities"] - 1
    swap = bond[:, mature] + data["swaprates"].astype(np.float64) * annuity[:, mature] - 1
    return np.where(swap.real < 0, -100 * swap, 0).sum(1) / growth[:, : data["periods"]].prod(1)
