"""The catalogue of public suites, the script that runs it, and the page that is made of what came out."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simtlab.runtime.nvcc import compile_program
from tests.runtime.conftest import needs_nvcc

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "suites"))
run, page = importlib.import_module("run"), importlib.import_module("page")
CATALOGUE = run.read_catalogue("")
ENTRIES = [one for _, applications in CATALOGUE.values() for one in applications]

PROGRAM = """
#include <cstdio>
__global__ void add(int *x) { x[threadIdx.x] += 1; }
int main(int n, char **given)
{
    int *x, sum = 0;
    cudaMallocManaged(&x, 32 * sizeof(int));
    for (int i = 0; i < 32; i++)
        x[i] = i;
    add<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++)
        sum += x[i];
    printf("the sum is %d\\n", sum);
}
"""


@pytest.mark.parametrize("one", ENTRIES, ids=lambda one: f"{one.suite}-{one.name}")
def test_an_entry_says_how_it_is_checked_or_why_it_does_not_run(one):
    if not one.fails:
        assert one.build
        assert one.run
        assert one.how  # without `check` and `verify` it is the exit status


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_suite_says_where_it_comes_from(name):
    about, _ = CATALOGUE[name]
    assert about["source"].startswith("https://github.com/")
    assert len(about["commit"]) == 40


def test_the_page_is_made_of_what_was_found():
    results = run.Results(run.RESULTS)
    assert page.PAGE.read_text() == page.page_of(CATALOGUE, {name: results.read(name) for name in CATALOGUE})


@pytest.fixture(scope="session")
def ready_made(tmp_path_factory):
    """The program compiled, for entries that are about something else."""
    folder = tmp_path_factory.mktemp("ready-made")
    (folder / "app.cu").write_text(PROGRAM)
    assert compile_program([str(folder / "app.cu"), "-o", str(folder / "app")]) == 0
    return folder / "app"


@needs_nvcc
@pytest.mark.parametrize(
    ("change", "built", "passed", "said"),
    [
        ({"build": "$NVCC app.cu -o app"}, True, True, ""),
        ({"check": "the sum is 529$"}, True, False, "the sum is 528"),
        ({"refuse": "sum"}, True, False, "the sum is 528"),
        ({"verify": "echo no; false"}, True, False, "no"),
        ({"build": "$NVCC nothing.cu -o app"}, False, False, "nothing.cu"),
    ],
)
def test_an_application_is_built_run_and_checked(change, built, passed, said, tmp_path, monkeypatch, ready_made):
    (tmp_path / "app.cu").write_text(PROGRAM)
    monkeypatch.setattr(run, "WORK", tmp_path / "work")
    entry = {"build": f"cp '{ready_made}' app", "run": "./app", "check": "the sum is 528$", **change}
    found = run.try_out(run.Application("app", "none", **entry), tmp_path, {}, False)
    assert (found.built, found.passed) == (built, passed)
    assert said in found.said
    if passed:
        assert (found.launches, found.instructions > 0) == (1, True)


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here, which clones suites")
def test_a_suite_is_cloned_at_the_commit_of_the_catalogue(tmp_path, monkeypatch):
    """From wherever its address says; here, a folder."""
    source = tmp_path / "source"
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    for text in ("first", "second"):
        (source / "file").write_text(text)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", text], check=True)
    first = subprocess.run([*git, "rev-parse", "HEAD~1"], check=True, capture_output=True, text=True).stdout.strip()
    monkeypatch.setattr(run, "WORK", tmp_path / "work")
    tree = run.fetch("made", {"source": str(source), "commit": first}, None)
    assert (tree / "file").read_text() == "first"
