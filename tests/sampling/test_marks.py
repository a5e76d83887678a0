"""Whatever is sampled says so: texts, pages, stored results; and a sampled experiment is another than a full one."""

import json

import pytest
from typer.testing import CliRunner

import simtlab as sl
from simtlab.cli.app import app
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice, choose
from simtlab.lab.store.results import Results
from simtlab.lab.sweep.payload import pack_payload, unpack_payload
from simtlab.lab.sweep.study import read_study
from simtlab.machine.sampled import Sampled
from simtlab.sampling.marks import combined
from simtlab.sampling.settings import Sampling
from tests.sampling.kernels import BLOCK, SOURCE, device, run

GPU = "caps-gtx480"
CUT = {"core.cores": 2}


@pytest.fixture(scope="module")
def sampled():
    gpu = device()
    return gpu, run(gpu, "regular", 1500)[0]


def test_a_page_carries_the_mark(sampled, tmp_path):
    text = sampled[1].profile(tmp_path / "page.html").read_text()
    assert "% of its warp instructions in detail" in text
    assert 'class="note sampled"' in text


def test_a_page_of_a_run_in_full_carries_none(tmp_path):
    done, _ = run(device(None), "regular", 20)
    assert "note sampled" not in done.profile(tmp_path / "page.html").read_text()


def test_figures_of_several_launches_carry_the_mark_of_all_of_them():
    whole, part = Sampled(1.0, 0.0, reason="few waves"), Sampled(0.25, 0.04, {"cycles": 40.0}, 4, 1)
    together = combined([(whole, 100, 1000), (part, 300, 3000)])
    assert together.share == pytest.approx((100 + 0.25 * 300) / 400)
    assert together.error == pytest.approx(0.03)
    assert together.errors == {"cycles": 40.0}
    assert combined([(None, 100, 1000)]) is None
    assert combined([(whole, 1, 1), (whole, 1, 1)]).reason == "few waves"


def program(tmp_path):
    file = tmp_path / "regular.cu"
    file.write_text(SOURCE)
    return [str(file), "--kernel", "regular", "--grid", "1500", "--block", str(BLOCK), "--arg", "f32[192000]=random",
            "--arg", "f32[192000]=zeros", "--gpu", GPU, "--set", "core.cores=4"]  # fmt: skip


def test_simtlab_run_says_that_it_sampled(tmp_path):
    given = program(tmp_path)
    shown = CliRunner().invoke(app, ["run", *given, "--sample", "on"])
    assert "% of its warp instructions in detail" in shown.output.replace("\n", " ")
    told = json.loads(CliRunner().invoke(app, ["run", *given, "--sample", "0.05", "--json"]).output)["timing"]
    assert told["sample"] == "on"
    assert 0 < told["sampled"]["share"] < 0.6
    assert told["sampled"]["errors"]["cycles"] > 0
    full = json.loads(CliRunner().invoke(app, ["run", *given, "--json"]).output)["timing"]
    assert "sampled" not in full
    assert full["instructions"] == told["instructions"]


def test_a_stored_result_carries_the_mark(tmp_path):
    store = tmp_path / "store.sqlite"
    done = CliRunner().invoke(app, ["run", *program(tmp_path), "--sample", "on", "--store", str(store)])
    assert done.exit_code == 0, done.output
    (found,) = Results(store)
    assert found.choices["sample"] == found.value("sample") == "on"
    assert 0 < found.value("sampled_share") < 0.6
    assert 0 < found.value("sampled_error") < 0.1
    assert found.table("launches")["sampled_share"] == [pytest.approx(found.value("sampled_share"))]
    errors = dict(zip(*found.table("sampling").values(), strict=True))
    assert errors["cycles"] == pytest.approx(found.value("sampled_error") * found.value("cycles"), rel=0.01)


def test_sampling_is_part_of_the_key_of_an_experiment():
    machines = [MachineChoice(GPU, CUT, sample=sample) for sample in (None, Sampling(), Sampling(0.02))]
    experiments = [Experiment("MM", "tiny", machine) for machine in machines]
    assert len({one.key for one in experiments}) == 3
    assert "sample=error=0.02" in str(experiments[2])


def test_a_study_has_sampling_as_an_axis(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(f'workloads = "MM"\nsize = "tiny"\ngpu = "{GPU}"\nsample = [false, true, 0.02]\n')
    found = [one.machine.sample for one in read_study(file).experiments()]
    assert found == [None, Sampling(), Sampling(error=0.02)]


def test_sampling_goes_with_an_experiment_to_another_machine():
    sent = Experiment("MM", "tiny", choose(GPU, ["core.cores=2"], [], None, "0.02"))
    payload, _ = pack_payload(sent)
    assert unpack_payload(payload, {}).machine.sample == Sampling(error=0.02)


def test_a_workload_whose_launches_are_too_small_says_why():
    run = sl.workload("MM", size="tiny").run(sl.Gpu(GPU, set=CUT, sample=True))
    assert "first 100,000 cycles" in str(run.launches[0].timing.sampled)
