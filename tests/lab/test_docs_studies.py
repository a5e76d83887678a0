"""docs/studies.md from question to figure: its study, its commands, its code."""

import re
import tomllib

import simtlab as sl
from tests.lab.conftest import ENVIRONMENT, ROOT, simtlab

PAGE = (ROOT / "docs" / "studies.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_leads_from_the_question_to_the_figure(tmp_path, monkeypatch, capsys):
    (study,) = blocks("toml")
    assert tomllib.loads((ROOT / "examples" / "study.toml").read_text()) == tomllib.loads(study)
    environment = {**ENVIRONMENT, "SIMTLAB_DATA": str(tmp_path / "data")}
    monkeypatch.setitem(ENVIRONMENT, "SIMTLAB_DATA", environment["SIMTLAB_DATA"])
    monkeypatch.setenv("SIMTLAB_DATA", environment["SIMTLAB_DATA"])
    swept, listed, paper = re.findall(r"^\$ simtlab (.*)$", PAGE, re.MULTILINE)

    done = simtlab(*swept.split(), cwd=ROOT)
    assert "18 run and stored, 0 stored before" in done.stdout, done.stderr
    shown = simtlab(*listed.split()).stdout.splitlines()
    assert shown[0].split() == re.search(r"^key +workload.*$", PAGE, re.MULTILINE)[0].split()
    assert len(shown) == 3

    code, best, small_study = blocks("python")
    exec(compile(code, "studies.md", "exec"), {})
    told = [re.sub(r"\d\.\d+", "", line).split() for line in capsys.readouterr().out.splitlines()]
    (output,) = re.findall(r"```\n(l1d\.mshr_entries.*?)```", PAGE, re.DOTALL)
    assert told == [re.sub(r"\d\.\d+", "", line).split() for line in output.splitlines()]

    out = tmp_path / "mshrs"
    done = simtlab(*paper.split()[:-1], out, cwd=ROOT)
    assert done.stderr == "18 experiments: 18 stored, 0 to run\n"
    assert f"written to {out}: 5 files" in done.stdout
    (tmp_path / "small.py").write_text(small_study)
    done = simtlab("paper", tmp_path / "small.py", "--out", tmp_path / "small")
    assert done.stderr == "3 experiments: 3 stored, 0 to run\n"
    assert (tmp_path / "small" / "faster.svg").is_file()
    names: dict = {}
    exec(compile(best, "studies.md", "exec"), names)
    assert set(names["best"]) == {"MM", "SCN"}
    assert len(sl.results(None, ["cta_throttle=static", "warp_scheduler=gto"])) == 2
