"""Makes the pictures of the documentation again: five kernels simulated, their profile pages photographed with Debian's Chromium.

python docs/images/make.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.report import kernels  # noqa: E402
from tests.report.conftest import CHROMIUM, DRIVER, FLAGS  # noqa: E402

import simtlab as sl  # noqa: E402
from simtlab.report.advice import advice, explain  # noqa: E402
from simtlab.report.page import write_page  # noqa: E402
from simtlab.report.profile import LaunchProfile  # noqa: E402

SMALL = str(ROOT / "examples" / "h200-small.toml")
WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 200_000


def machine(name: str) -> sl.Gpu:
    gpu = sl.Gpu(name)
    assert gpu.machine is not None
    gpu.machine.interval_cycles = 64
    return gpu


def transpose(name: str, n: int) -> LaunchProfile:
    gpu = machine(name)
    kernel = gpu.compile(ROOT / "examples" / "transpose.cu")["transpose"]
    return kernel((n // 32, n // 8), (32, 8), [gpu.zeros((n, n)), gpu.zeros((n, n)), n]).figures()[0]


def row_sums() -> LaunchProfile:
    gpu = machine(SMALL)
    kernel = gpu.compile(ROOT / "examples" / "row_sums.cu")["row_sums"]
    return kernel(64, 128, [gpu.zeros((8192, 64)), gpu.zeros(8192), 64]).figures()[0]


def lists() -> LaunchProfile:
    gpu = machine(SMALL)
    nodes = np.random.default_rng(0).permutation(np.arange(1, 2048 * 20 + 1, dtype="i4")).reshape(2048, 20)
    follows = np.zeros(2048 * 20 + 1, "i4")
    follows[nodes[:, :-1]] = nodes[:, 1:]
    steps = gpu.zeros(2048, "i4")
    kernel = gpu.compile(ROOT / "examples" / "lists.cu")["walk"]
    return kernel(8, 32, [gpu.array(follows), gpu.array(nodes[:, 0]), steps, 2048]).figures()[0]


# Each picture's name, and the figures on its page.
PICTURES: dict[str, Callable[[], LaunchProfile]] = {
    "profile-transpose": lambda: transpose(SMALL, 512),
    "profile-row-sums": row_sums,
    "profile-spmv": lambda: kernels.spmv("h200"),
    "profile-lists": lists,
    "profile-triad": lambda: kernels.triad("h200"),
    "readme": lambda: transpose("h200", 1024),
}
# Of the page, so that the advice and the source lines are in one picture.
LEFT_OUT = {"readme": ("#l0-stalls", "#l0-memory", "#l0-source .note")}


@contextmanager
def browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, "--hide-scrollbars", f"--user-data-dir={folder}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False})  # fmt: skip
            light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
            yield driver
        finally:
            driver.quit()


def photograph(driver: Any, page: Path, left_out: tuple[str, ...]) -> Image.Image:
    """The window with the advice at its top, once the charts are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(page.as_uri())
    drawn = "return document.getElementById('l0-timeline-chart').dataset.drawn === 'true'"
    WebDriverWait(driver, 60).until(lambda driver: driver.execute_script(drawn))
    for part in left_out:
        driver.execute_script(f"document.querySelector('{part}').style.display = 'none'")
    driver.execute_script("document.getElementById('l0-advice').scrollIntoView({block: 'start', behavior: 'instant'})")
    time.sleep(1)  # the charts that came into view are laid out
    return Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB")


def save(picture: Image.Image, path: Path, words: str) -> None:
    """With a palette, as the page has few colours; what `explain` says is kept in the file, and a test compares it with a run."""
    info = PngInfo()
    info.add_text("explain", words)
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True, pnginfo=info)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}")


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as pages, browser() as driver:
        for name, figures in PICTURES.items():
            page = Path(pages) / f"{name}.html"
            one = figures()
            write_page(page, [one], one.kernel, (), advice)
            save(photograph(driver, page, LEFT_OUT.get(name, ())), folder / f"{name}.png", explain(one))
            print(f"{folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
