"""Arguments as text: what they become, and what is said about wrong ones."""

from pathlib import Path

import numpy as np
import pytest

from simtlab.cli.values import ArrayText, parse_size, parse_value

HERE = Path()


def values(text: str, seed: tuple[int, int] = (0, 0), folder: Path = HERE) -> np.ndarray:
    array = parse_value(text, folder)
    assert isinstance(array, ArrayText)
    return array.values(seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32:-5", np.int32(-5)),
        ("u64:0xffffffffffffffff", np.uint64(2**64 - 1)),
        ("i8:-0x80", np.int8(-128)),
        ("u16:65535", np.uint16(65535)),
        ("f32:2", np.float32(2)),
        ("f64:1e-300", np.float64(1e-300)),
        ("f16:-inf", np.float16(-np.inf)),
        ("ptr:0", np.uint64(0)),
    ],
)
def test_a_scalar_has_the_type_it_names(text, expected):
    value = parse_value(text, HERE)
    assert value.dtype == expected.dtype
    assert value == expected


def test_nan_is_a_float():
    assert np.isnan(parse_value("f32:nan", HERE))


@pytest.mark.parametrize("type", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"])
def test_random_arrays_are_reproducible_and_differ_by_seed_and_place(type):
    array = values(f"{type}[50x20]=random")
    assert array.shape == (50, 20)
    assert array.dtype == np.dtype({"i": "i", "u": "u", "f": "f"}[type[0]] + str(int(type[1:]) // 8))
    assert array.min() >= 0
    assert array.max() < (1 if type[0] == "f" else 100)
    assert np.array_equal(array, values(f"{type}[50x20]=random"))
    assert not np.array_equal(array, values(f"{type}[50x20]=random", (1, 0)))
    assert not np.array_equal(array, values(f"{type}[50x20]=random", (0, 1)))


def test_arrays_hold_what_their_text_says():
    assert values("i32[2x3]=arange").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert values("f32[3]=ones").tolist() == [1, 1, 1]
    assert values("f64[3]=zeros").tolist() == [0, 0, 0]
    assert values("u8[2]=0xff").tolist() == [255, 255]
    assert values("f32[2]=-1.5").tolist() == [-1.5, -1.5]


def test_an_array_comes_from_a_file_whose_shape_may_be_left_out(tmp_path):
    stored = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", stored)
    for text in ("f32[]=x.npy", "f32[2x3]=x.npy"):
        assert np.array_equal(values(text, folder=tmp_path), stored)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1024", ["no type", "i32:1024"]),
        ("int:5", ["'int' is no type", "i8, i16, i32", "i32:1024"]),
        ("i32:abc", ["'abc' is no integer", "i32:42"]),
        ("i32:1.5", ["'1.5' is no integer"]),
        ("i32:", ["'' is no integer"]),
        ("i8:200", ["200 does not fit in i8", "-128 to 127"]),
        ("u32:-1", ["-1 does not fit in u32"]),
        ("f32:two", ["'two' is no number", "f32:2.5"]),
        ("f32:1e40", ["1e40 does not fit in f32"]),
        ("ptr:16", ["ptr:0"]),
        ("f32[16]", ["what the array holds", "f32[1024]=random"]),
        ("f32[16]=randm", ["random, zeros, ones, arange", "'randm'"]),
        ("f32[]=zeros", ["only an array from a file", "f32[1024]=random"]),
        ("f32[0]=zeros", ["at least one element"]),
        ("f32[4x]=zeros", ["'4x' is no size", "64x64"]),
        ("f32[99999999x99999999]=zeros", ["more than a device has"]),
        ("q32[4]=zeros", ["'q32' is no type"]),
        ("f32[]=none.npy", ["cannot read none.npy: No such file or directory"]),
    ],
)
def test_a_wrong_argument_is_refused_with_the_reason_and_an_example(text, words):
    with pytest.raises(ValueError) as refusal:
        parse_value(text, HERE)
    for word in words:
        assert word in str(refusal.value)


def test_a_file_must_agree_with_the_type_and_the_shape(tmp_path):
    np.save(tmp_path / "d.npy", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="holds f64, not f32"):
        parse_value("f32[]=d.npy", tmp_path)
    with pytest.raises(ValueError, match="has the shape 2x3, not 3x2"):
        parse_value("f64[3x2]=d.npy", tmp_path)
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(ValueError, match=r"text\.npy is no \.npy file"):
        parse_value("f32[]=text.npy", tmp_path)
    np.save(tmp_path / "objects.npy", np.array([{}]))
    with pytest.raises(ValueError, match=r"objects\.npy is no \.npy file with numbers"):
        parse_value("f32[]=objects.npy", tmp_path)


def test_sizes():
    assert parse_size("4096") == (4096,)
    assert parse_size("64x32") == (64, 32)
    assert parse_size("8, 8, 4") == (8, 8, 4)
    for wrong in ("", "x", "4x", "-1", "4.5", "a", "4xx4"):
        with pytest.raises(ValueError, match="is no size; for example 4096, 64x64"):
            parse_size(wrong)
