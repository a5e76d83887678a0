"""docs/studies.md from question to figure: its study, its commands, its code."""

import ast
import re
import tomllib

import pytest

import simtlab as sl
from tests.lab.conftest import ENVIRONMENT, ROOT, simtlab

PAGE = (ROOT / "docs" / "studies.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow  # a study of 20 seconds
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
    (listing,) = re.findall(r"```\n\$ simtlab results.*?\n(key .*?)```", PAGE, re.DOTALL)
    parts = [sorted(line.split()[1:-1] for line in lines) for lines in (shown, listing.splitlines())]  # keys and seconds apart
    assert parts[0] == parts[1]  # the order is that in which they ended

    code, best, small_study = blocks("python")
    exec(compile(code, "studies.md", "exec"), {})
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    (output,) = re.findall(r"```\n(l1d\.mshr_entries.*?)```", PAGE, re.DOTALL)
    assert told == [line.split() for line in output.splitlines()]
    check_the_conclusion([[float(number) for number in line[-3:]] for line in told[2:]])

    out = tmp_path / "mshrs"
    done = simtlab(*paper.split()[:-1], out, cwd=ROOT)
    assert done.stderr == "18 experiments: 18 stored, 0 to run\n"
    assert f"written to {out}: 5 files" in done.stdout
    shown = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert shown == re.findall(r"^(experiments|took|store|written)\b", PAGE[PAGE.index("$ simtlab paper") :], re.MULTILINE)
    (tmp_path / "small.py").write_text(small_study)
    done = simtlab("paper", tmp_path / "small.py", "--out", tmp_path / "small")
    assert done.stderr == "3 experiments: 3 stored, 0 to run\n"
    assert (tmp_path / "small" / "faster.svg").is_file()
    names: dict = {}
    exec(compile(best, "studies.md", "exec"), names)
    assert names["best"] == ast.literal_eval(re.search(r"# (\{.*\})", best)[1])
    assert most_ctas("CNV") == 2
    assert most_ctas("MM") == 1
    assert len(sl.results(None, ["cta_throttle=static", "warp_scheduler=gto"])) == 2


def check_the_conclusion(ipc: list[list[float]]) -> None:
    """Rows: BFS, MM and SCN, each with gto and with lrr; columns: 8, 32 and 128 MSHRs."""
    assert "8 are too few for BFS and MM, SCN needs no more, and 128 are no better than 32" in PAGE
    assert all(few < enough for few, enough, _ in ipc[:4])
    assert all(few >= enough for few, enough, _ in ipc[4:])
    assert all(enough == most for _, enough, most in ipc)
    assert all(a > b for gto, lrr in zip(ipc[::2], ipc[1::2], strict=True) for a, b in zip(gto, lrr, strict=True))


def most_ctas(workload: str) -> int:
    """CTAs a core where as many may run as fit, of the largest grid."""
    (result,) = sl.results(None, [f"workload={workload}", "cta_throttle=static,ctas=8"])
    grids = [x * y * z for x, y, z in result.table("launches")["grid"]]
    return -(-max(grids) // result.value("core.cores"))
