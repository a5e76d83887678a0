"""MRQ, mri-q of Parboil: the Q matrix of a non-Cartesian magnetic-resonance reconstruction. Regular, compute-bound.

A thread keeps one voxel in registers (loads coalesced, once) and walks all k-space samples in
constant memory, which the whole warp reads at one address; the inner loop is sines and cosines, with no global load at all.
"""

from typing import Any

import numpy as np

NAME = "MRQ"
SUITE = "Parboil"
CATEGORY = "regular"
PAPERS = ("CAPS", "LOADS")
ALIASES = ("mriq", "mri-q")
OPTIONS = ()
KERNEL_NAMES = ()
SIZES = {
    "tiny": {"samples": 24, "voxels_per_side": 8, "samples_per_launch": 12},
    "small": {"samples": 30, "voxels_per_side": 41, "samples_per_launch": 15},  # 270 CTAs
    "paper": {"samples": 3072, "voxels_per_side": 32, "samples_per_launch": 1024},  # Parboil's input "small"
}
TOLERANCE = {"phiMag": (1e-6, 0.0), "Qr": (1e-4, 1e-3), "Qi": (1e-4, 1e-3)}

PHI_THREADS, Q_THREADS = 512, 256
CONSTANT_SAMPLES = 1024  # what the kernel's constant array holds


def inputs(*, seed: int = 0, samples: int, voxels_per_side: int, samples_per_launch: int) -> dict[str, Any]:
    """A stack-of-spirals trajectory, a field of view of one, and samples whose energy falls towards high frequencies."""
    rng = np.random.default_rng(seed)
    turn = np.arange(samples) / samples
    radius = voxels_per_side / 2 * np.sqrt(turn)
    angle = 2 * np.pi * 8 * turn
    kx, ky = radius * np.cos(angle), radius * np.sin(angle)
    kz = voxels_per_side / 2 * rng.uniform(-1, 1, samples)
    weight = 1 / (1 + np.sqrt(kx**2 + ky**2 + kz**2))
    phi_real, phi_imaginary = weight * rng.normal(size=(2, samples))
    x, y, z = voxel_positions(voxels_per_side)
    values = {"kx": kx, "ky": ky, "kz": kz, "phiR": phi_real, "phiI": phi_imaginary, "x": x, "y": y, "z": z}
    data: dict[str, Any] = {name: np.ascontiguousarray(value, np.float32) for name, value in values.items()}
    return data | {"samples_per_launch": min(samples_per_launch, CONSTANT_SAMPLES)}


def voxel_positions(side: int) -> np.ndarray:
    """Centres of the voxels of a cube of side one, padded to whole CTAs with voxels at the origin."""
    steps = (np.arange(side) + 0.5) / side - 0.5
    z, y, x = (axis.ravel() for axis in np.meshgrid(steps, steps, steps, indexing="ij"))
    padding = -len(x) % Q_THREADS
    return np.pad(np.stack([x, y, z]), ((0, 0), (0, padding)))


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n_samples, n_voxels = len(data["kx"]), len(data["x"])
    phi_real, phi_imaginary = launcher.array(data["phiR"]), launcher.array(data["phiI"])
    phi_magnitude = launcher.zeros(n_samples, np.float32)
    phi_grid = -(-n_samples // PHI_THREADS)
    launcher.launch("ComputePhiMag_GPU", phi_grid, PHI_THREADS, [phi_real, phi_imaginary, phi_magnitude, n_samples])

    magnitudes = phi_magnitude.numpy()
    table = np.stack([data["kx"], data["ky"], data["kz"], magnitudes], axis=1)
    x, y, z = (launcher.array(data[axis]) for axis in "xyz")
    real, imaginary = launcher.zeros(n_voxels, np.float32), launcher.zeros(n_voxels, np.float32)
    for first in range(0, n_samples, data["samples_per_launch"]):
        end = min(first + data["samples_per_launch"], n_samples)
        in_constant_memory = np.zeros((CONSTANT_SAMPLES, 4), np.float32)
        in_constant_memory[: end - first] = table[first:end]
        launcher.module.constant("samples")[...] = in_constant_memory.ravel()
        launcher.launch("ComputeQ_GPU", n_voxels // Q_THREADS, Q_THREADS, [end, first, x, y, z, real, imaginary])
    return {"phiMag": magnitudes, "Qr": real.numpy(), "Qi": imaginary.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The sum of complex exponentials, in double precision."""
    k = np.stack([data["kx"], data["ky"], data["kz"]]).astype(np.float64)
    voxels = np.stack([data["x"], data["y"], data["z"]], axis=1).astype(np.float64)
    power = np.abs(data["phiR"].astype(np.float64) + 1j * data["phiI"]) ** 2
    q = np.concatenate([np.exp(2j * np.pi * (part @ k)) @ power for part in np.array_split(voxels, max(1, len(voxels) // 4096))])
    return {"phiMag": power.astype(np.float32), "Qr": q.real.astype(np.float32), "Qi": q.imag.astype(np.float32)}
