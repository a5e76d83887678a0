"""`simtlab run launches.toml`: several launches on the same arrays, and what is said about wrong files."""

import json
import shutil

import numpy as np
import pytest

from tests.cli.conftest import ROOT, SAXPY, invoke, refused

GOOD = f"""
source = "{SAXPY}"
[arrays]
x = "f32[100]=arange"
y = "f32[100]=zeros"
[[launch]]
grid = 1
block = 128
args = ["i32:100", "f32:1", "x", "y"]
repeat = 3
[[launch]]
kernel = "saxpy"
grid = [2, 1]
block = "64"
args = ["i32:100", "f32:-2", "x", "y"]
[outputs]
y = "y.npy"
"""


def test_launches_follow_each_other_on_the_same_arrays(write, tmp_path):
    result = invoke("run", write("launches.toml", GOOD))
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.arange(100, dtype=np.float32))
    rows = [line.split()[:4] for line in result.stdout.splitlines()[1:3]]
    assert rows == [["saxpy", "1", "128", "3"], ["saxpy", "2", "64", "1"]]


def test_json_lists_the_launches(write):
    found = json.loads(invoke("run", write("launches.toml", GOOD), "--json").stdout)
    assert [(one["kernel"], one["repeat"], one["grid"]) for one in found["launches"]] == [
        ("saxpy", 3, [1, 1, 1]),
        ("saxpy", 1, [2, 1, 1]),
    ]
    assert [array["name"] for array in found["arrays"]] == ["x", "y"]


def test_the_example_runs(tmp_path):
    for name in ("saxpy.cu", "launches.toml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    result = invoke("run", tmp_path / "launches.toml")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("source =", "sourse =", ["unknown key 'sourse'", "did you mean 'source'?"]),
        ("repeat = 3", "repeats = 3", ["launch 1: unknown key 'repeats'", "did you mean 'repeat'?"]),
        ("repeat = 3", "colour = 3", ["launch 1: unknown key 'colour'", "known are kernel, grid"]),
        ("[arrays]", "[arrays", ["line 3"]),
        ("grid = 1", "grid = 'big'", ["launch 1: bad 'grid': 'big' is no size", "64x64"]),
        ("grid = [2, 1]", "", ["launch 2: 'grid' is missing"]),
        ("grid = 1", "grid = 0", ["grid.x is 0"]),
        ("repeat = 3", "repeat = 0", ["launch 1: 'repeat' must be an integer of at least 1"]),
        ("repeat = 3", "shared = -1", ["launch 1: 'shared' must be an integer of at least 0"]),
        ('"x", "y"]\nrepeat', '"xx", "y"]\nrepeat', ["launch 1: args[2]: there is no array 'xx'", "did you mean 'x'?"]),
        ('"i32:100", "f32:1"', '100, "f32:1"', ["launch 1: args[0] must be a string", "i32:1024"]),
        ('"i32:100", "f32:1"', '"i32:many", "f32:1"', ["launch 1: args[0] 'i32:many'", "no integer"]),
        ('"i32:100", "f32:1"', '"i32[4]=ones", "f32:1"', ["launch 1: args[0]", "declared under [arrays]"]),
        ('"f32[100]=arange"', '"f32[100]=arrange"', ["arrays.x", "'arrange'"]),
        ('"f32[100]=arange"', '"f32:1"', ["arrays.x", "is no array"]),
        ('"f32[100]=arange"', "4", ["arrays.x must be a string"]),
        ('y = "y.npy"', 'z = "y.npy"', ["outputs.z: there is no array 'z'", "known are x, y"]),
        ('y = "y.npy"', 'y = "nowhere/y.npy"', ["outputs.y: cannot write", "there is no folder"]),
        ('kernel = "saxpy"', 'kernel = "sax"', ["no kernel 'sax'", "'saxpy'"]),
        ('kernel = "saxpy"', "kernel = 4", ["launch 2: 'kernel' must be a string"]),
    ],
)
def test_a_wrong_file_is_refused_by_the_key_that_is_wrong(write, old, new, words):
    assert GOOD.count(old) == 1
    message = refused(2, "run", write("launches.toml", GOOD.replace(old, new)))
    for word in words:
        assert word in message


def test_every_message_names_the_file(write):
    path = write("launches.toml", "[[launch]]\ngrid = 1\n")
    assert f"error: {path}: 'source' is missing" in refused(2, "run", path)
    path = write("launches.toml", f'source = "{SAXPY}"\n')
    assert f"error: {path}: there is no [[launch]]" in refused(2, "run", path)


def test_a_missing_file_and_options_that_belong_in_it(write, tmp_path):
    assert "No such file" in refused(2, "run", tmp_path / "none.toml")
    message = refused(2, "run", write("launches.toml", GOOD), "--grid", 4)
    assert "--grid cannot be used with a .toml file" in message
