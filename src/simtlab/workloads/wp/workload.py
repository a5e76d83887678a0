"""WP, weather prediction: what clouds, rain and snow do in a time step, one column of air a thread.

Suite: ISPASS (GPGPU-Sim's benchmarks of 2009), the microphysics WSM5 of the Weather Research and Forecasting model. Irregular.
A thread walks its column again and again; 16 arrays over the levels are in local memory (1,792 bytes a thread), eight fields
are read and five written level by level in each sweep, eight threads side by side. Which processes happen differs from level to
level and from column to column, and so does the number of steps in which rain falls. CTAs are 8 x 8.

Against WSM5 (Hong, Dudhia and Chen 2004) this is simplified: melting snow goes by the heat capacity at the step's beginning;
rain and snow are not limited once more by what all processes together take from them; the share of snow in what fell is not
written. Snow above freezing evaporates by a rate of its own, which the suite's code leaves at zero. Registers are 58 a thread
and not 140.
"""

from math import gamma, pi
from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import natural

NAME = "WP"
SUITE = "ISPASS 2009"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("wsm5",)
OPTIONS = ("--use_fast_math",)  # as the suite's makefile
SIZES = {
    "tiny": {"width": 12, "depth": 8, "levels": 6},
    "small": {"width": 240, "depth": 192, "levels": 4},  # 720 CTAs, and so few levels
    "paper": {"width": 71, "depth": 58, "levels": 27},  # the suite's 9 x 8 CTAs; the sizes within them are our guess
}
FIELDS = ("q", "qc", "qi", "qr", "qs")
# Singles with approximate exponentials, roots and quotients; fields of 1e-2 at most.
TOLERANCE = {"th": (2e-5, 0.0), "rain": (2e-3, 1e-5), "snow": (2e-3, 1e-5)} | dict.fromkeys(FIELDS, (0.002, 1e-07))
BLOCK, MOST_LEVELS = 8, 28  # as in kernel.cu

# Air, water and ice
CPD, CPV, RV, EP2, CLIQ, CICE = 1004.5, 1846.4, 461.6, 287.0 / 461.6, 4190.0, 2106.0
T0, TRIPLE, PSAT, XLV, XLS, XLF = 273.15, 273.16, 610.78, 2.5e6, 2.85e6, 3.5e5
DENR, DENS, DEN0, QMIN, QCRMIN = 1000.0, 100.0, 1.28, 1e-15, 1e-9
# Rain and snow: how many (a diameter of zero), and fall speeds a D^b
N0R, N0S, AR, BR, AS, BS = 8e6, 2e6, 841.9, 0.8, 11.72, 0.41
DIMAX, XNCR = 5e-4, 3e8


def inputs(*, width: int, depth: int, levels: int, step: float = 90.0, seed: int = 0) -> dict[str, Any]:
    """Air as in the standard atmosphere, in places saturated: clouds there, rain below the freezing level and snow above it."""
    require(width >= 1 and depth >= 1, f"WP: {width} x {depth} columns are none")
    require(2 <= levels <= MOST_LEVELS, f"WP: levels is {levels}; it must be from 2 to {MOST_LEVELS}")
    require(step > 0, f"WP: step is {step} seconds; it must be above 0")
    random = np.random.default_rng([seed, width, depth, levels])
    thick = np.linspace(200, 900, levels) * 15000 / np.linspace(200, 900, levels).sum()
    height = (np.cumsum(thick) - thick / 2)[None, :, None]
    shape = (depth, levels, width)
    storm = natural(depth, width, seed).astype(np.float64)[:, None, :]
    t = 296 + 4 * storm - 6.5e-3 * np.minimum(height, 11000) + 0.3 * random.standard_normal(shape)
    p = 101325 * np.exp(-height / 8000) * np.ones(shape)
    pii = (p / 1e5) ** (287 / CPD)
    wet = np.clip(3 * storm - 1, 0, 1) * np.exp(-(((height - 4000) / 4000) ** 2)) * random.uniform(0.2, 1, shape)
    q = saturated(t, p, t < TRIPLE) * np.clip(0.45 + 0.6 * wet + 0.05 * random.standard_normal(shape), 0.02, 1.05)
    cold = 1 / (1 + np.exp((t - T0 + 3) / 2))  # the share of water that is ice
    data = {
        "th": t / pii, "pii": pii, "q": q, "qc": 1.5e-3 * wet * (1 - cold), "qi": 4e-4 * wet * cold,
        "qr": 3e-3 * wet**2 * (1 - cold), "qs": 2e-3 * wet**2 * cold, "den": p / (287 * t * (1 + 0.608 * q)), "p": p,
        "delz": np.broadcast_to(thick[None, :, None], shape),
    }  # fmt: skip
    return {name: np.ascontiguousarray(values, np.float32) for name, values in data.items()} | {"step": step}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    depth, levels, width = data["th"].shape
    names = ("th", "pii", *FIELDS, "den", "p", "delz")
    arrays = {name: launcher.array(data[name], label=name) for name in names}
    fallen = {name: launcher.zeros((depth, width), "f4", label=name) for name in ("rain", "snow")}
    sizes = [np.int32(n) for n in (width, depth, levels)]
    grid = (-(-width // BLOCK), -(-depth // BLOCK))
    arguments = [*arrays.values(), *fallen.values(), np.float32(data["step"]), *sizes]
    launcher.launch("wsm5_gpu", grid, (BLOCK, BLOCK), arguments)
    return {name: array.numpy() for name, array in (arrays | fallen).items() if name in ("th", *FIELDS, "rain", "snow")}


# The reference: whole fields of doubles, indexed by south-north, height, west-east ---------------------------------------------


def saturated(t: np.ndarray, p: np.ndarray, ice: Any) -> np.ndarray:
    """Mixing ratio at saturation over water or ice, by the integrated equation of Clausius and Clapeyron."""
    a = (np.where(ice, CICE, CLIQ) - CPV) / RV
    b = a + np.where(ice, XLS, XLV) / (RV * TRIPLE)
    pressure = PSAT * (TRIPLE / t) ** a * np.exp(b * (1 - TRIPLE / t))
    return np.maximum(EP2 * pressure / (p - pressure), QMIN)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    s = {name: values.astype(np.float64) for name, values in data.items() if name != "step"}
    s["t"] = s["th"] * s["pii"]
    vapour = np.maximum(s["q"], QMIN)
    s["cpm"] = CPD * (1 - vapour) + CPV * vapour
    s["xl"] = XLV - (CLIQ - CPV) * (s["t"] - T0)
    loops = max(int(data["step"] / 120 + 0.5), 1)
    dt = data["step"] / loops
    rain = snow = np.zeros(s["t"][:, 0].shape)
    for _ in range(loops):
        s["qs1"], s["qs2"] = saturated(s["t"], s["p"], False), saturated(s["t"], s["p"], s["t"] < TRIPLE)
        s["rh1"], s["rh2"] = np.maximum(s["q"] / s["qs1"], QMIN), np.maximum(s["q"] / s["qs2"], QMIN)
        water, ice = precipitate(s, dt)
        rain, snow = rain + water + ice, snow + ice
        freeze(s, dt)
        exchange(s, dt)
        condense(s)
    s["th"] = s["t"] / s["pii"]
    depth_of_water = s["delz"][:, 0] / DENR * 1000
    return {name: s[name] for name in ("th", *FIELDS)} | {"rain": rain * depth_of_water, "snow": snow * depth_of_water}


def size_of_rain(s: dict[str, Any]) -> np.ndarray:
    """The mean diameter of raindrops: their distribution is exponential, of N0R a metre at zero (Marshall and Palmer)."""
    return np.where(s["qr"] <= QCRMIN, 1 / 8e4, (s["qr"].clip(QCRMIN) * s["den"] / (pi * DENR * N0R)) ** 0.25)


def flakes(s: dict[str, Any]) -> np.ndarray:
    """How many times N0S there are of snow; the colder, the more (HDC 6)."""
    return np.exp(0.12 * (T0 - s["t"])).clip(1, 1e11 / N0S)


def size_of_snow(s: dict[str, Any], number: np.ndarray) -> np.ndarray:
    return np.where(s["qs"] <= QCRMIN, 1 / 1e5, (s["qs"].clip(QCRMIN) * s["den"] / (pi * DENS * N0S * number)) ** 0.25)


def crystals(s: dict[str, Any]) -> np.ndarray:
    """Ice crystals in a cubic metre (HDC 5c)."""
    return (5.38e7 * (s["den"] * np.maximum(s["qi"], QMIN)) ** 0.75).clip(1e3, 1e6)


def fall(s: dict[str, Any], name: str, speed: np.ndarray, dt: float, steps: np.ndarray) -> np.ndarray:
    """A step of what falls from level to level (`steps` of them are `dt`); what reaches the ground, as density."""
    flux = s["den"] * s[name] * speed / steps * dt * s["delz"]
    arriving = np.concatenate([flux[:, 1:], np.zeros_like(flux[:, :1])], axis=1)
    s[name] = np.maximum(s[name] - (flux - arriving) / (s["den"] * s["delz"]), 0)
    return flux[:, 0] / s["delz"][:, 0]


def precipitate(s: dict[str, Any], dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Rain and snow fall, snow melts, then ice falls; columns with fewer steps stop before the others."""
    number = flakes(s)
    drop, flake, thin = size_of_rain(s), size_of_snow(s, number), np.sqrt(DEN0 / s["den"])
    s["drop"] = drop  # which freezing goes by, too
    rain_speed = AR * gamma(4 + BR) / 6 * drop**BR * thin / s["delz"]
    snow_speed = AS * gamma(4 + BS) / 6 * flake**BS * thin / s["delz"]
    crystal = crystals(s)
    steps = np.floor(np.maximum(rain_speed, snow_speed).max(1, keepdims=True) * dt + 1).clip(1)
    water = ice = np.zeros(steps[:, 0].shape)
    for n in range(int(steps.max())):
        going = n < steps
        water = water + fall(s, "qr", rain_speed * going, dt, steps)
        ice = ice + fall(s, "qs", snow_speed * going, dt, steps)
        melt(s, flake, number, dt / steps * going, steps)
    diameter = (11.9 * np.sqrt(s["den"] * s["qi"] / crystal)).clip(1e-25, DIMAX)
    ice_speed = np.where(s["qi"] > 0, 1.49e4 * diameter**1.31 / s["delz"], 0)
    steps = np.floor(ice_speed.max(1, keepdims=True) * dt + 1).clip(1)
    for n in range(int(steps.max())):
        ice = ice + fall(s, "qi", ice_speed * (n < steps), dt, steps)
    return water, ice


def viscosity(s: dict[str, Any]) -> np.ndarray:
    return 1.496e-6 * s["t"] ** 1.5 / (s["t"] + 120) / s["den"]


def diffusion(s: dict[str, Any]) -> np.ndarray:
    return 8.794e-5 * s["t"] ** 1.81 / s["p"]


def conductivity(s: dict[str, Any]) -> np.ndarray:
    return 1.414e3 * viscosity(s) * s["den"]


def hindrance(s: dict[str, Any], heat: Any, saturation: np.ndarray) -> np.ndarray:
    return s["den"] * heat**2 / (conductivity(s) * RV * s["t"] ** 2) + 1 / (saturation * diffusion(s))


def ventilation(s: dict[str, Any]) -> np.ndarray:
    """Schmidt's number and the air's density, as they are in the ventilation of what falls."""
    v = viscosity(s)
    return (v / diffusion(s)) ** (1 / 3) / np.sqrt(v) * (DEN0 / s["den"]) ** 0.25


def exposed_snow(s: dict[str, Any], flake: np.ndarray, number: np.ndarray) -> np.ndarray:
    """How much of snow vapour and heat reach: still flakes, and what their fall adds."""
    wind = ventilation(s) * np.sqrt(AS) * gamma((5 + BS) / 2) * flake ** ((5 + BS) / 2)
    return 4 * N0S * number * (0.65 * flake**2 + 0.44 * wind)


def melt(s: dict[str, Any], flake: np.ndarray, number: np.ndarray, dt: np.ndarray, steps: np.ndarray) -> None:
    rate = conductivity(s) / XLF * (s["t"] - T0) * pi / 2 * exposed_snow(s, flake, number)
    melted = np.where((s["t"] > T0) & (dt > 0), np.minimum(rate * dt, s["qs"] / steps), 0).clip(0)
    s["qs"], s["qr"], s["t"] = s["qs"] - melted, s["qr"] + melted, s["t"] - XLF / s["cpm"] * melted


def freeze(s: dict[str, Any], dt: float) -> None:
    """Ice melts above freezing; droplets freeze below -40 degrees, and some of droplets and rain before (Bigg)."""
    below = T0 - s["t"]
    warmth = np.where(below < 0, XLF, XLS - s["xl"]) / s["cpm"]
    more = 100 * np.expm1(0.66 * below.clip(0, 100))

    def move(source: str, target: str, amount: np.ndarray, sign: int) -> None:
        s[source], s[target], s["t"] = s[source] - amount, s[target] + amount, s["t"] + sign * warmth * amount

    move("qi", "qc", np.where(below < 0, s["qi"], 0), -1)
    move("qc", "qi", np.where(below > 40, s["qc"], 0), 1)
    move("qc", "qi", np.minimum(more * s["den"] / DENR / XNCR * s["qc"] ** 2 * dt, s["qc"]), 1)
    move("qr", "qs", np.minimum(20 * pi**2 * more * N0R * DENR / s["den"] * s["drop"] ** 7 * dt, s["qr"]), 1)


def bounded(rate: np.ndarray, excess: np.ndarray, rest: np.ndarray, there: np.ndarray) -> np.ndarray:
    gain = np.minimum(np.minimum(rate, excess / 2), rest)
    loss = np.maximum(np.maximum(np.maximum(rate, excess / 2), rest), -there)
    return np.where(rate < 0, loss, gain)


def warm_rates(s: dict[str, Any], dt: float) -> dict[str, np.ndarray]:
    """What droplets and vapour give to rain."""
    drop, thin = size_of_rain(s), np.sqrt(DEN0 / s["den"])
    least = 4 / 3 * pi * DENR * 8e-6**3 * XNCR / DEN0
    speed = 0.104 * 9.8 * 0.55 / (XNCR * DENR) ** (1 / 3) / 1.718e-5 * DEN0 ** (4 / 3)
    turned = np.where(s["qc"] > least, np.minimum(speed * s["qc"] ** (7 / 3), s["qc"] / dt), 0)
    swept = pi * N0R * AR * gamma(3 + BR) / 4 * drop ** (3 + BR) * s["qc"] * thin
    caught = np.where((s["qr"] > QCRMIN) & (s["qc"] > QMIN), np.minimum(swept, s["qc"] / dt), 0)
    wind = ventilation(s) * np.sqrt(AR) * gamma((5 + BR) / 2) * drop ** ((5 + BR) / 2)
    rate = (s["rh1"] - 1) * 2 * pi * N0R * (0.78 * drop**2 + 0.31 * wind) / hindrance(s, s["xl"], s["qs1"])
    excess = (np.maximum(s["q"], QMIN) - s["qs1"]) / dt
    grown = bounded(rate, excess, np.where(rate < 0, -s["qr"] / dt, excess), s["qr"] / dt)
    return {"turned": turned, "caught": caught, "grown": np.where(s["qr"] > 0, grown, 0)}


def cold_rates(s: dict[str, Any], dt: float, grown: np.ndarray) -> dict[str, np.ndarray]:
    """What snow and ice take; vapour goes to ice first, then to snow, then to new crystals, until the air is saturated."""
    number, crystal = flakes(s), crystals(s)
    flake, thin, freezing = size_of_snow(s, number), np.sqrt(DEN0 / s["den"]), s["t"] < T0
    excess = (np.maximum(s["q"], QMIN) - s["qs2"]) / dt
    rimed = np.minimum(pi * N0S * AS * gamma(3 + BS) / 4 * number * flake ** (3 + BS) * s["qc"] * thin, s["qc"] / dt)
    rimed = np.where((s["qs"] > QCRMIN) & (s["qc"] > QMIN), rimed, 0)
    diameter = 11.9 * np.sqrt(s["den"] * s["qi"] / crystal)
    d = np.minimum(diameter, DIMAX)
    apart = np.abs(AS * gamma(4 + BS) / 6 * flake**BS * thin - 1.49e4 * d**1.31)
    met = pi * s["qi"] * np.exp(0.07 * (s["t"] - T0)) * N0S * number * apart * (2 * flake**3 + 2 * d * flake**2 + d**2 * flake) / 4
    met = np.where(freezing & (s["qs"] > QCRMIN) & (s["qi"] > QMIN), met, 0)
    hindered, exposed = hindrance(s, XLS, s["qs2"]), exposed_snow(s, flake, number)
    on_ice = bounded(4 * diameter * crystal * (s["rh2"] - 1) / hindered, excess, excess - grown, s["qi"] / dt)
    on_ice = np.where(freezing & (s["qi"] > 0), on_ice, 0)
    done = (s["qi"] > 0) & (np.abs(grown + on_ice) >= np.abs(excess))
    on_snow = bounded((s["rh2"] - 1) * exposed / hindered, excess, excess - grown - on_ice, s["qs"] / dt)
    on_snow = np.where(freezing & (s["qs"] > 0) & ~done, on_snow, 0)
    done |= (s["qs"] > 0) & (np.abs(grown + on_ice + on_snow) >= np.abs(excess))
    begun = (4.92e-11 * (1e3 * np.exp(0.1 * (T0 - s["t"]))) ** 1.33 / s["den"] - s["qi"]).clip(0) / dt
    begun = np.where(freezing & (excess > 0) & ~done, np.minimum(np.minimum(begun, excess), excess - grown - on_ice - on_snow), 0)
    clumped = np.where(freezing, (s["qi"] - 2.08e22 * DIMAX**8 / s["den"]).clip(0) / dt, 0)
    dried = (s["rh1"] - 1) * exposed / hindrance(s, s["xl"], s["qs1"])
    dried = np.where(~freezing & (s["qs"] > 0) & (s["rh1"] < 1), np.maximum(dried, -s["qs"] / dt).clip(None, 0), 0)
    return {"rimed": rimed, "met": met, "on_ice": on_ice, "on_snow": on_snow, "begun": begun, "clumped": clumped, "dried": dried}


def exchange(s: dict[str, Any], dt: float) -> None:
    """All rates at once; droplets and ice give no more than there is of them."""
    r = warm_rates(s, dt)
    r |= cold_rates(s, dt, r["grown"])
    limit(r, ("turned", "caught", "rimed"), (), s["qc"], dt, True)
    cold = s["t"] <= T0
    limit(r, ("clumped", "met"), ("begun", "on_ice"), s["qi"], dt, cold)
    frozen, thawed = np.where(cold, 1, 0), np.where(cold, 0, 1)
    from_vapour = r["grown"] + frozen * (r["on_snow"] + r["begun"] + r["on_ice"]) + thawed * r["dried"]
    heat = s["xl"] * (r["grown"] + thawed * r["dried"])
    heat = heat + frozen * (XLS * (r["on_snow"] + r["on_ice"] + r["begun"]) + (XLS - s["xl"]) * r["rimed"])
    s["q"] = s["q"] - from_vapour * dt
    s["qc"] = (s["qc"] - (r["turned"] + r["caught"] + r["rimed"]) * dt).clip(0)
    s["qr"] = (s["qr"] + (r["turned"] + r["caught"] + r["grown"] + thawed * r["rimed"]) * dt).clip(0)
    s["qi"] = (s["qi"] - frozen * (r["clumped"] + r["met"] - r["begun"] - r["on_ice"]) * dt).clip(0)
    taken = frozen * (r["on_snow"] + r["clumped"] + r["met"] + r["rimed"]) + thawed * r["dried"]
    s["qs"] = (s["qs"] + taken * dt).clip(0)
    s["t"] = s["t"] + heat / s["cpm"] * dt


def limit(r: dict[str, Any], losses: tuple, gains: tuple, there: np.ndarray, dt: float, where: Any) -> None:
    wanted = (sum(r[name] for name in losses) - sum(r[name] for name in gains)) * dt
    there = np.maximum(there, QMIN)
    share = np.where((wanted > there) & where, there / np.where(wanted > there, wanted, 1), 1)
    for name in (*losses, *gains):
        r[name] = r[name] * share


def condense(s: dict[str, Any]) -> None:
    """Brings the air to saturation over water, by a step of Newton's method; droplets give what they have."""
    level = saturated(s["t"], s["p"], False)
    excess = (np.maximum(s["q"], QMIN) - level) / (1 + s["xl"] ** 2 * level / (RV * s["cpm"] * s["t"] ** 2))
    moved = np.where(excess > 0, np.minimum(excess, s["q"].clip(0)), np.maximum(excess, -s["qc"]))
    s["q"], s["qc"], s["t"] = s["q"] - moved, (s["qc"] + moved).clip(0), s["t"] + moved * s["xl"] / s["cpm"]
    for name in ("qc", "qi"):
        s[name] = np.where(s[name] <= QMIN, 0, s[name])
