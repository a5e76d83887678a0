"""What `make run` shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_first_minute_names_the_slow_line_and_shows_what_is_faster(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, ROOT / "examples" / "transpose.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    line = (ROOT / "examples" / "transpose.cu").read_text().splitlines().index("    out[x * n + y] = in[y * n + x];") + 1
    assert f"1. The store of line {line} is not coalesced: it touches 32.0 sectors a request where 4 would do" in done.stdout
    found = re.search(r"takes ([\d,]+) cycles instead of ([\d,]+)", done.stdout)
    assert found is not None
    tiled, plain = (int(number.replace(",", "")) for number in found.groups())
    assert tiled < 0.8 * plain
    assert "open transpose.html in a browser" in done.stdout
    assert (tmp_path / "transpose.html").read_text().startswith("<!DOCTYPE html>")
