"""Record the cycles that a real GPU takes for the probes of `h200_probes`.

    python -m tests.timing.record_probes_on_gpu prepare FOLDER    # here: needs NVRTC
    python -m tests.timing.record_probes_on_gpu run FOLDER        # on a machine with a GPU: needs NumPy alone
    python -m tests.timing.record_probes_on_gpu store FOLDER      # here: into tests/data/hardware
"""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np

from tests.hardware.driver import Device
from tests.timing.h200_probes import FILES, MAX_WARPS, MEMORY_WORDS, RECORDED, code_digest, compiled, probes

LAUNCHES = 3  # the fastest counts: the first brings code and data in


def prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        (folder / f"{file}.cubin").write_bytes(compiled(file))


def run(folder: Path) -> None:
    device, cycles, found = Device(), np.zeros(MAX_WARPS, np.uint64), {}
    modules = {file: device.load((folder / f"{file}.cubin").read_bytes()) for file in FILES}
    arrays = [device.put(cycles), device.put(np.zeros(MAX_WARPS * 32, np.uint64)), device.put(np.zeros(MEMORY_WORDS, np.int32))]
    for name, probe in probes().items():
        arguments = [*arrays[: 3 if probe.has_memory else 2], *probe.numbers]
        found[name] = {}
        for warps in probe.warps:
            slowest = []
            for _ in range(LAUNCHES):
                device.launch(modules[probe.file], probe.kernel, 1, 32 * warps, arguments)
                device.get(arrays[0], cycles)
                slowest.append(int(cycles[:warps].max()))
            found[name][str(warps)] = round(min(slowest) / probe.steps, 2)
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "cycles.json").write_text(json.dumps({"gpu": gpu, "date": f"{date.today()}", "cycles_a_step": found}))


def store(folder: Path) -> None:
    """A line for each probe, and for the machine code of each kernel."""
    found = json.loads((folder / "cycles.json").read_text())
    cubins = {file: (folder / f"{file}.cubin").read_bytes() for file in FILES}
    code = {probe.kernel: code_digest(cubins[probe.file], probe.kernel) for probe in probes().values()}
    write(found["gpu"], found["date"], found["cycles_a_step"], code)


def write(gpu: str, day: str, cycles: dict[str, dict[str, float]], code: dict[str, str]) -> None:
    head = f' "gpu": {json.dumps(gpu)},\n "date": {json.dumps(day)},\n'
    steps = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in cycles.items())
    digests = ",\n".join(f"  {json.dumps(name)}: {json.dumps(digest)}" for name, digest in code.items())
    RECORDED.write_text(f'{{\n{head} "cycles_a_step": {{\n{steps}\n }},\n "machine_code": {{\n{digests}\n }}\n}}\n')


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]))
