"""Launch the kernels of kernels.zip on a GPU, and measure them with ncu.

    python3 measure.py [-o measured.json]        # runs itself under ncu and writes what it found

Needs Python 3.10 or later, NVIDIA's driver and Nsight Compute (`ncu`), and the right to read counters; no other package. Memory is
put where the simulated GPU has it, so that pointers in it stay right.
"""

import argparse
import csv
import ctypes
import json
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE, PAGE = 0x7F00_0000_0000, 2 << 20
LEAST_RESERVED = 1 << 30  # of the address space: for less the driver has places of its own
PARAMETERS, SIZE, END = 1, 2, 0  # of cuLaunchKernel's `extra`
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
METRICS = {
    "cycles": "sm__cycles_elapsed.max",
    "gpu_cycles": "gpc__cycles_elapsed.max",
    "active_cycles": "sm__cycles_active.avg",
    "core_hz": "sm__cycles_elapsed.avg.per_second",
    "dram_hz": "dram__cycles_elapsed.avg.per_second",
    "duration_ns": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "warps": "smsp__warps_launched.sum",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1_load_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "atomic_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "shared_passes": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l2_sectors": "lts__t_sectors_srcunit_tex.sum",
    "l2_hits": "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l2_reads": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_writes": "lts__t_sectors_srcunit_tex_op_write.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "issue_active": "smsp__issue_active.sum",
    "barrier_stalls": "smsp__warp_issue_stalled_barrier.sum",
    "long_scoreboard_stalls": "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "short_scoreboard_stalls": "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "no_instruction_stalls": "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "lg_throttle_stalls": "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "mio_throttle_stalls": "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "math_throttle_stalls": "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "wait_stalls": "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "imc_stalls": "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio",
}


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProperties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("meta", ctypes.c_void_p),
        ("compression", ctypes.c_ubyte),
        ("rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class AccessDescription(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class Device:
    """The first GPU, with memory at fixed addresses."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name, self.modules = name.value.decode(), {}

    def call(self, function, *arguments):
        code = getattr(self.cuda, function)(*arguments)
        if code:
            raise SystemExit(f"{function} failed with code {code}")

    def map(self, size):
        """Memory at BASE."""
        size = -(-size // PAGE) * PAGE
        place, handle = ctypes.c_uint64(), ctypes.c_uint64()
        self.call(
            "cuMemAddressReserve",
            ctypes.byref(place),
            ctypes.c_size_t(max(size, LEAST_RESERVED)),
            ctypes.c_size_t(PAGE),
            ctypes.c_uint64(BASE),
            ctypes.c_uint64(0),
        )
        if place.value != BASE:
            raise SystemExit(f"the driver reserves memory at {place.value:#x}, not at {BASE:#x}")
        wanted = AllocationProperties(type=1, location=Location(1, 0))
        self.call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(wanted), ctypes.c_uint64(0))
        self.call("cuMemMap", ctypes.c_uint64(BASE), ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
        access = AccessDescription(Location(1, 0), 3)
        self.call("cuMemSetAccess", ctypes.c_uint64(BASE), ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))

    def module(self, name, cubin):
        if name not in self.modules:
            self.modules[name] = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(self.modules[name]), cubin)
        return self.modules[name]

    def write(self, place, content):
        if content:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(place), content, ctypes.c_size_t(len(content)))

    def launch(self, launch, archive):
        """With profiling on for this launch alone."""
        module, function = self.module(launch["cubin"], archive.read(launch["cubin"])), ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, launch["kernel"].encode())
        for one in launch["memory"]:
            place = one["start"]
            if one["variable"]:
                address, size = ctypes.c_uint64(), ctypes.c_size_t()
                self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, one["variable"].encode())
                place = address.value
            self.write(place, archive.read(one["content"]))
        if launch["shared"] > 48 << 10:
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, launch["shared"])
        given = bytes.fromhex(launch["parameters"])
        buffer, size = ctypes.create_string_buffer(given, max(len(given), 1)), ctypes.c_size_t(len(given))
        extra = (ctypes.c_void_p * 5)(PARAMETERS, ctypes.addressof(buffer), SIZE, ctypes.addressof(size), END)
        self.call("cuCtxSynchronize")
        self.call("cuProfilerStart")
        self.call("cuLaunchKernel", function, *launch["grid"], *launch["block"], launch["shared"], None, None, extra)
        self.call("cuCtxSynchronize")
        self.call("cuProfilerStop")


def launch_all(only):
    with zipfile.ZipFile(HERE / "kernels.zip") as archive:
        launches = json.loads(archive.read("kernels.json"))["launches"]
        device = Device()
        ends = [one["start"] + one["size"] for launch in launches for one in launch["memory"] if not one["variable"]]
        device.map(max(ends, default=BASE + 1) - BASE)
        for launch in launches:
            if not only or launch["name"] in only:
                device.launch(launch, archive)


def measure(output, ncu, only):
    """Launch them under ncu, and write what it found."""
    with zipfile.ZipFile(HERE / "kernels.zip") as archive:
        kit = json.loads(archive.read("kernels.json"))
    names = [one["name"] for one in kit["launches"] if not only or one["name"] in only]
    rows = profiled(ncu, only)
    if len(rows) != len(names):
        raise SystemExit(f"ncu measured {len(rows)} launches of {len(names)}")
    kernels = {}
    for name, row in zip(names, rows, strict=True):
        found = {key: number(row.get(metric, "")) for key, metric in METRICS.items()}
        kernels[name] = {key: value for key, value in found.items() if value is not None}
    gpu = said(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).stdout.strip()
    version = said([ncu, "--version"]).stdout.strip().rpartition("\n")[2]
    told = {"gpu": gpu, "isa": kit["isa"], "simtlab": kit["simtlab"], "ncu": version, "date": f"{date.today()}", "kernels": kernels}
    Path(output).write_text(json.dumps(told, indent=1) + "\n")
    print(f"wrote {output}: {len(kernels)} launches")


def profiled(ncu, only):
    """A row of ncu's table for each launch, in their order."""
    options = ["--profile-from-start", "off", "--clock-control", "none", "--cache-control", "all", "--csv", "--page", "raw"]
    options += ["--print-units", "base", "--metrics", ",".join(METRICS.values())]
    program = [sys.executable, str(HERE / "measure.py"), "--launch", *only]
    done = said([ncu, *options, *program])
    lines = done.stdout.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or first is None:
        raise SystemExit(f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}\nncu ended with status {done.returncode}")
    return list(csv.DictReader(lines[first:]))[1:]  # a row of units comes first


def said(command):
    """What a command came to."""
    try:
        return subprocess.run(command, capture_output=True, text=True)
    except OSError as problem:
        raise SystemExit(f"{command[0]} cannot be run: {problem.strerror}") from None


def number(text):
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if value == int(value) else round(value, 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the kernels of kernels.zip on a GPU.")
    parser.add_argument("-o", "--output", default="measured.json")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command")
    parser.add_argument("--launch", action="store_true", help="launch them and measure nothing")
    parser.add_argument("only", nargs="*", help="names of launches; all if left out")
    given = parser.parse_args()
    if given.launch:
        launch_all(given.only)
    else:
        measure(given.output, given.ncu, given.only)
