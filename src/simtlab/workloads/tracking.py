"""A bright disk moves through a noisy film and a particle filter follows it: what both versions of Rodinia's filter share."""

from __future__ import annotations

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

OBJECT, GROUND = 228, 100  # grey levels
VELOCITY = (1.0, -2.0)  # points a frame along x and y, which the filter knows
UNCERTAINTY = (5.0, 2.0)  # its standard deviation, likewise
NOISE = 5.0  # standard deviation of the film's, in grey levels
MODULUS, FACTOR, TERM = 2**31 - 1, 1103515245, 12345  # of the generator of random numbers


def film_and_seeds(who: str, *, particles: int, frames: int, side: int, radius: int, seed: int) -> dict[str, Any]:
    """A film, by x, y and frame; the points of the object around its centre; a state of the generator for each particle."""
    require(particles >= 1, f"{who}: particles is {particles}; it must be at least 1")
    require(frames >= 2, f"{who}: frames is {frames}; it must be at least 2, since the first is where the object is known")
    require(1 <= radius < side / 2, f"{who}: radius is {radius}; it must be from 1 to less than half of the side, {side}")
    random = np.random.default_rng([seed, particles, frames, side])
    x, y, frame = np.ogrid[:side, :side, :frames]
    centre_x, centre_y = np.abs(side // 2 + frame), np.abs(side // 2 - 2 * frame)
    inside = (x - centre_x) ** 2 + (y - centre_y) ** 2 < radius**2
    grey = np.where(inside, OBJECT, GROUND) + NOISE * random.standard_normal(inside.shape)
    return {
        "film": np.rint(grey).clip(0, 255).astype(np.uint8),
        "disk": disk(radius),
        "seeds": random.integers(1, MODULUS, particles).astype(np.int32),
    }


def disk(radius: int) -> np.ndarray:
    """The places within less than a radius from the centre, as (y, x)."""
    x, y = np.mgrid[1 - radius : radius, 1 - radius : radius]
    near = x**2 + y**2 < radius**2
    return np.stack([y[near], x[near]], 1).astype(np.int32)


def uniform(seeds: np.ndarray) -> np.ndarray:
    """The next number in [0, 1) of each state, which moves on: a linear congruential generator on 32 bits with their sign."""
    product = (FACTOR * seeds.astype(np.int64) + TERM).astype(np.int32)
    seeds[:] = np.fmod(product.astype(np.int64), MODULUS)
    return np.abs(seeds / MODULUS)


def normal(seeds: np.ndarray) -> np.ndarray:
    """The next number of a normal distribution, by Box and Muller's transform."""
    one, other = uniform(seeds), uniform(seeds)
    return np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * other)


def start(data: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """All particles where the object is in the first frame."""
    count, side = len(data["seeds"]), len(data["film"])
    return np.full(count, float(side // 2)), np.full(count, float(side // 2))


def moved(x: np.ndarray, y: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every particle where it might be a frame later."""
    x = x + VELOCITY[0] + UNCERTAINTY[0] * normal(seeds)
    return x, y + VELOCITY[1] + UNCERTAINTY[1] * normal(seeds)


def weights(data: dict[str, Any], x: np.ndarray, y: np.ndarray, frame: int) -> np.ndarray:
    """How likely the object is at each particle's place, in all 1. A place outside the film reads as its first point."""
    film, places = data["film"], data["disk"]
    near_x = np.floor(x + 0.5).astype(np.int64)[:, None] + places[:, 1]
    near_y = np.floor(y + 0.5).astype(np.int64)[:, None] + places[:, 0]
    index = np.abs((near_x * film.shape[1] + near_y) * film.shape[2] + frame)
    grey = film.ravel()[np.where(index < film.size, index, 0)].astype(np.float64)
    likelihood = (((grey - GROUND) ** 2 - (grey - OBJECT) ** 2) / 50).mean(1)
    unnormalised = np.exp(likelihood) / len(x)
    return unnormalised / unnormalised.sum()


def ladder(seeds: np.ndarray) -> np.ndarray:
    """As many numbers as particles, evenly spaced in [0, 1) from a random first one, which the first state draws."""
    count = len(seeds)
    return uniform(seeds[:1]) / count + np.arange(count) / count


def chosen(cumulative: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """For each step of the ladder the first particle whose cumulative weight reaches it, by bisection."""
    return np.minimum(np.searchsorted(cumulative, steps), len(cumulative) - 1)
