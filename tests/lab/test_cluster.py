"""The same sweep on a Dask cluster: a real scheduler and two workers on loopback, one of which is killed in mid-run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.lab.store.results import results
from simtlab.lab.sweep.cluster import Cluster
from simtlab.lab.sweep.payload import pack_payload, unpack_payload
from simtlab.lab.sweep.task import Task
from simtlab.policies.choice import PolicyChoice
from simtlab.storage import PACKAGE
from tests.lab.conftest import ENVIRONMENT, everything, marking, simtlab, start, wait_for_results, wait_until

pytest.importorskip("distributed", reason="Dask is an extra: pip install 'simtlab[dask]'")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class LoopbackCluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path):
        self.folder, self.file, self.workers = folder, folder / "scheduler.json", []
        self.begun = folder / "begun"  # there when a worker has begun a run
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                     "--scheduler-file", self.file)  # fmt: skip
        self.address = json.loads(self._appears(self.file).read_text())["address"]

    def add_worker(self, package: Path = PACKAGE) -> subprocess.Popen:
        """A worker in a folder of its own, with a cache of its own for what it is sent."""
        place = self.folder / f"worker{len(self.workers)}"
        place.mkdir()
        worker = self._start("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard",
                             "--local-directory", place, cwd=place, package=package)  # fmt: skip
        self.workers.append(worker)
        return worker

    def _start(self, *arguments, cwd=None, package: Path = PACKAGE) -> subprocess.Popen:
        environment = {**marking(self.begun), "PYTHONPATH": str(package.parent)}
        return subprocess.Popen([sys.executable, "-m", "dask", *map(str, arguments)], env=environment, cwd=cwd, **QUIET)

    def wait_for_workers(self, count: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=300)

    @staticmethod
    def _appears(file: Path) -> Path:
        wait_until(lambda: file.exists() and file.stat().st_size > 0, f"{file} appears")
        return file

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = LoopbackCluster(tmp_path)
    yield made
    made.close()


@pytest.mark.slow  # a worker of the sweeps of one machine that is killed has an everyday test: test_sweep.py
def test_a_dask_worker_killed_in_mid_run_costs_a_retry_and_changes_no_result(cluster, study, store, policy, tmp_path):
    path = study(4, "small", 'policies.warp_scheduler = ["gto", "lowest.py"]\nparameters.rounds = 2000')
    first, _ = cluster.add_worker(), cluster.add_worker()
    running = start("sweep", path, "--store", store, "--dask", cluster.address)
    wait_for_results(store, 1)
    kept = len(results(store))
    os.kill(first.pid, signal.SIGKILL)
    out, err = running.communicate(timeout=600)
    assert running.returncode == 0, err
    assert kept < 8
    assert simtlab("sweep", path, "--store", tmp_path / "undisturbed.sqlite").returncode == 0
    assert everything(store) == everything(tmp_path / "undisturbed.sqlite")
    assert "8 run and stored" in out


@pytest.mark.parametrize("status", ["lost", "finished"])
def test_a_result_that_dies_with_its_worker_before_it_is_fetched_is_tried_again(status):
    """The worker is killed between the news that a run has ended and the request for its result."""

    class Future:
        def __init__(self):
            self.status = status

        def result(self, timeout):
            raise TimeoutError("the worker is gone")

    task = Task(Experiment("BFS", "tiny", MachineChoice("gtx480")), "key", "BFS")
    outcome = Cluster("tcp://nowhere:1")._outcome(task, Future())
    assert outcome.lost
    assert outcome.record is None


def test_a_worker_that_answers_before_the_workers_are_counted_again_is_noticed():
    """A short task ends within the seconds between two counts."""

    class Client:
        status, threads = "running", {}

        def nthreads(self):
            return self.threads

    class Future:
        key, status = "task", "lost"

        def release(self):
            pass

    cluster = Cluster("tcp://nowhere:1")
    cluster.client = Client()
    assert cluster.waiting_for().startswith("a worker")
    cluster.client.threads = {"worker": 1}
    cluster._ended.put((Task(Experiment("BFS", "tiny", MachineChoice("gtx480")), "key", "BFS"), Future()))
    assert cluster.wait(1.0) is not None
    assert cluster.waiting_for() == ""


def test_a_worker_with_another_simtlab_is_refused_before_anything_runs(cluster, study, store, tmp_path):
    other = tmp_path / "other" / "simtlab"
    shutil.copytree(PACKAGE, other, ignore=shutil.ignore_patterns("__pycache__"))
    issue = other / "machine" / "core" / "issue.py"
    issue.write_text(issue.read_text() + "\n# another version\n")
    cluster.add_worker(other)
    cluster.wait_for_workers(1)
    done = simtlab("sweep", study(1), "--store", store, "--dask", cluster.address)
    assert done.returncode == 2
    assert "has another simtlab (its sources' digest is" in done.stderr
    assert "install the same version there" in done.stderr


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_or_goes_away_is_told(cluster, study, store):
    done = simtlab("sweep", study(1), "--store", store, "--dask", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "error: there is no Dask scheduler at tcp://127.0.0.1:9" in done.stderr
    cluster.add_worker()
    running = start("sweep", study(1, "small", "parameters.rounds = 3000000"), "--store", store, "--dask", cluster.address)
    wait_until(cluster.begun.exists, "a worker begins the run")
    cluster.scheduler.kill()
    _, err = running.communicate(timeout=300)
    assert running.returncode == 2
    assert "is gone; every result so far is stored" in err


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_at_once_and_waited_for(cluster, study, store):
    running = start("sweep", study(1), "--store", store, "--dask", cluster.address)
    lines = [running.stderr.readline()]
    told = time.monotonic()
    lines.append(running.stderr.readline())
    waited = time.monotonic() - told
    assert f"waiting for a worker: the Dask cluster at {cluster.address} has none yet (start some with `dask worker" in lines[1]
    assert waited < 30  # a second or two on a machine that is not busy
    assert "0 of 1 done, still waiting for a worker" in running.stderr.readline()
    cluster.add_worker()
    err, out = running.stderr.read(), running.stdout.read()  # `communicate` would not give lines that readline has taken in
    assert running.wait(300) == 0, err
    assert "a worker is there: going on" in err
    assert "1 run and stored" in out


def test_ctrl_c_while_there_are_no_workers_stops_at_once(cluster, study, store):
    running = start("sweep", study(1), "--store", store, "--dask", cluster.address)
    running.stderr.readline()
    assert "waiting for a worker" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    running.communicate()


# Payloads -------------------------------------------------------------------------------------------------------------


def test_what_a_worker_unpacks_has_the_same_key(program, policy, tmp_path, monkeypatch):
    monkeypatch.setattr("simtlab.lab.sweep.payload.cache_directory", lambda: tmp_path / "worker")
    machine, graph = tmp_path / "mine.toml", tmp_path / "graph.el"
    (tmp_path / "common.toml").write_text('base = "gtx480"\nl1d.mshr_entries = 20\n')
    machine.write_text('base = "common.toml"\n')
    graph.write_text("0 1\n1 2\n")
    for workload, files in ((str(program), {}), ("BFS", {"graph": str(graph)})):
        choice = MachineChoice(str(machine), {}, {"warp_scheduler": PolicyChoice(str(policy))})
        experiment = Experiment(workload, "tiny", choice, files=files)
        payload, sources = pack_payload(experiment)
        unpacked = unpack_payload(payload, {digest: path.read_bytes() for digest, path in sources.items()})
        assert unpacked.key == experiment.key
        assert str(tmp_path / "worker") in str(unpacked.machine)
        assert unpack_payload(payload, {}) == unpacked  # it is there already


def test_what_belongs_to_simtlab_stays_at_home():
    experiment = Experiment("BFS", "tiny", MachineChoice("gtx480", {}, {"warp_scheduler": PolicyChoice("gto")}))
    payload, sources = pack_payload(experiment)
    assert (payload.experiment, sources) == (experiment, {})


def test_files_that_cannot_travel_are_named(program, tmp_path):
    (tmp_path / "common.h").write_text("#define N 3\n")
    (program / "kernel.cu").write_text('#include "../common.h"\n' + (program / "kernel.cu").read_text())
    with pytest.raises(StudyError, match="which lies outside its folder"):
        pack_payload(Experiment(str(program), "tiny", MachineChoice("gtx480")))


# Slurm ----------------------------------------------------------------------------------------------------------------

SBATCH = """#!/bin/bash
here="$(dirname "$0")"
cp "$1" "$here/script"  # the original is gone as soon as this command ends
setsid bash "$here/script" >/dev/null 2>&1 &
echo $! > "$here/job"
echo "Submitted batch job 17"
"""
SCANCEL = '#!/bin/bash\nkill -- -$(cat "$(dirname "$0")/job")\n'


def test_slurm_jobs_are_submitted_and_cancelled(study, store, tmp_path):
    """A stand-in for Slurm's two commands runs the job script here; all else is dask-jobqueue's own."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    settings = {"DASK_JOBQUEUE__SLURM__CORES": "1", "DASK_JOBQUEUE__SLURM__MEMORY": "2GB", "DASK_JOBQUEUE__SLURM__INTERFACE": "lo"}
    environment = {**ENVIRONMENT, **settings, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    running = start("sweep", study(2), "--store", store, "--dask", "slurm", "--processes", 1, env=environment, cwd=tmp_path)
    out, err = running.communicate(timeout=600)
    assert running.returncode == 0, err
    assert "2 run and stored" in out
    job = int((commands / "job").read_text())
    wait_until(lambda: not Path(f"/proc/{job}").exists(), "the job ends with the sweep")


def test_a_slurm_job_without_a_size_is_told(study, store, tmp_path):
    done = simtlab("sweep", study(1), "--store", store, "--dask", "slurm", cwd=tmp_path)
    assert done.returncode == 2
    assert "dask-jobqueue cannot start a cluster" in done.stderr
    assert "jobqueue.yaml" in done.stderr
