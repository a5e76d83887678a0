"""Natural-looking images: the spectrum of photographs, a few objects with sharp edges, a little noise."""

from __future__ import annotations

import numpy as np

OBJECTS = 12
NOISE = 0.01  # standard deviation, of a range of one


def natural(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A grey image, f4 in [0, 1]. Amplitudes fall with frequency as 1/f, as photographs' do (Field, JOSA A 1987)."""
    random = np.random.default_rng([seed, height, width])
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    frequency = np.hypot(rows, columns)
    frequency[0, 0] = 1.0
    phase = np.exp(2j * np.pi * random.random(frequency.shape)) / frequency
    phase[0, 0] = 0.0
    ground = np.fft.irfft2(phase, s=(height, width))
    image = (ground - ground.min()) / max(float(np.ptp(ground)), 1e-9)
    y, x = np.mgrid[0:height, 0:width]
    for _ in range(OBJECTS):
        centre_y, centre_x = random.random(2) * (height, width)
        half_y, half_x = (0.03 + 0.15 * random.random(2)) * (height, width)
        inside = ((y - centre_y) / half_y) ** 2 + ((x - centre_x) / half_x) ** 2 < 1
        image[inside] = 0.25 * image[inside] + 0.75 * random.random()
    return np.clip(image + NOISE * random.standard_normal(image.shape), 0, 1).astype(np.float32)


def grey_levels(image: np.ndarray) -> np.ndarray:
    """An image in [0, 1] as bytes."""
    return np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
