"""The Pythons that simtlab runs on: said in one place each, and an unknown one gets a sentence."""

import sys
import tomllib
from pathlib import Path

import pytest

import simtlab as sl

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_pyproject_and_the_package_name_the_same_pythons():
    (_, first), (_, last) = sl.PYTHONS
    assert PROJECT["requires-python"] == f">=3.{first},<3.{last + 1}"
    named = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == [f"3.{minor}" for minor in range(first, last + 1)]


@pytest.mark.quick
def test_this_python_is_one_of_them():
    sl.check_python(sys.version_info[:2])


@pytest.mark.parametrize("version", [(3, 10), (3, 15), (4, 0)])
def test_another_python_gets_a_sentence(version):
    with pytest.raises(ImportError, match=rf"simtlab runs on Python 3.11 to 3.14; this is {version[0]}\.{version[1]}"):
        sl.check_python(version)


def test_ci_tries_every_one_of_them():
    (_, first), (_, last) = sl.PYTHONS
    script = (ROOT / ".ci" / "run").read_text()
    assert f"for version in {' '.join(f'3.{minor}' for minor in range(first, last + 1))};" in script
