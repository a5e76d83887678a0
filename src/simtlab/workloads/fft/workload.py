"""FFT of SHOC: a batch of 512-point complex transforms and their inverses, in place. Regular.

A CTA of 64 threads has one transform: eight coalesced loads a thread, 512 B apart, at the same stride in
every CTA; two exchanges through padded shared memory, twiddle factors from the special function unit, eight coalesced stores.
"""

from typing import Any

import numpy as np

NAME = "FFT"
SUITE = "SHOC"
CATEGORY = "regular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-M"
OPTIONS = ()
KERNEL_NAMES = ()
SIZES = {
    "tiny": {"transforms": 8},
    "small": {"transforms": 720},  # as many CTAs; SHOC's size class 1 has 256, 1 MB
    "paper": {"transforms": 24_576},  # SHOC's size class 3, 96 MB
}
# __sinf and __cosf are good to about 2^-21 of one; three rounds of them, spectra of up to 512 times the samples
TOLERANCE = {"spectrum": (1e-5, 3e-4), "restored": (1e-5, 3e-6)}

POINTS, THREADS = 512, 64


def inputs(*, seed: int = 0, transforms: int) -> dict[str, Any]:
    """Chirps and tones in noise, as a receiver samples them."""
    rng = np.random.default_rng(seed)
    time = np.arange(POINTS) / POINTS
    tone, sweep, phase = (high * rng.random((transforms, 1)) for high in (200, 100, 1))
    signal = 0.5 * np.exp(2j * np.pi * (tone * time + sweep * time**2 + phase))
    noise = 0.1 * (rng.normal(size=(transforms, POINTS)) + 1j * rng.normal(size=(transforms, POINTS)))
    return {"signal": (signal + noise).astype(np.complex64)}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    work = launcher.array(data["signal"])
    transforms = len(data["signal"])
    launcher.launch("FFT512_device", transforms, THREADS, [work])
    spectrum = work.numpy()
    launcher.launch("IFFT512_device", transforms, THREADS, [work])
    return {"spectrum": parts(spectrum), "restored": parts(work.numpy())}


def parts(values: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of reals, so that each part is checked."""
    return np.ascontiguousarray(values, np.complex64).view(np.float32)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """NumPy's transform, in double precision; the inverse gives the signal back."""
    return {"spectrum": parts(np.fft.fft(data["signal"].astype(np.complex128))), "restored": parts(data["signal"])}
