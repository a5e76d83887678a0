"""What is special to the programs of the ISPASS benchmarks, Parboil's SAD and JPEG: known answers, odd sizes, bad inputs."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.aes.workload import expanded
from simtlab.workloads.errors import InputFileError, WorkloadError
from simtlab.workloads.frame import Launcher, workload


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(memory_bytes=256 << 20)


def outputs(gpu, name, data):
    """What a program computes from data that no size of it generates."""
    chosen = workload(name, "tiny")
    return chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), data)


def grey_map(path, height, width, bytes_missing=0):
    pixels = np.random.default_rng(1).integers(0, 256, height * width, dtype=np.uint8).tobytes()
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + pixels[: len(pixels) - bytes_missing])
    return path


# NQU ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("queens", "solutions"), [(4, 2), (5, 10), (6, 4), (7, 40), (8, 92), (9, 352)])
def test_n_queens_has_the_known_number_of_solutions(gpu, queens, solutions):
    run = workload("NQU", "tiny", queens=queens, ctas=2).run(gpu)
    assert run.outputs["solutions"] == solutions
    assert len(run.launches) == 1 + queens % 2  # an odd board has a column in the middle


def test_n_queens_starts_another_grid_when_one_is_full(gpu):
    run = workload("NQU", "tiny", queens=8, ctas=1, rows=4).run(gpu)
    assert run.outputs["solutions"] == 92
    assert len(run.launches) == 2  # 172 boards with four rows that begin in the left half, 96 a CTA


def test_n_queens_as_the_suite_has_them_gives_work_to_one_cta_only(gpu):
    run = workload("NQU", "paper").run(gpu)
    assert run.launches[0].grid == (256, 1, 1)
    assert np.flatnonzero(run.outputs["half"]).tolist() == [0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"queens": 3}, "from 4 to 20"), ({"queens": 12, "rows": 1}, "from 2 to 11"), ({"ctas": 0}, "1 at least")],
)
def test_n_queens_says_what_it_cannot_do(wrong, message):
    with pytest.raises(WorkloadError, match=message):
        workload("NQU", "tiny", **wrong).inputs()


# LIB ------------------------------------------------------------------------------------------------------------------


def test_libors_slope_is_what_the_price_changes_by(gpu):
    """By differences of the reference's own prices, which know nothing of derivatives."""
    definition = workload("LIB", "tiny").definition
    data = workload("LIB", "tiny", paths=70, ctas=1).inputs()
    first, shocks = np.full(12, 0.05), 0.3 + 0.5 * (2 * np.arange(70) + 1 - 70) / 70
    step = np.zeros(12)
    step[-1] = 1e-5
    high, low = (definition.portfolio(definition.followed(first + s, shocks, data), data) for s in (step, -step))
    slopes = outputs(gpu, "LIB", data)["slopes"]
    assert np.allclose(slopes, (high - low) / 2e-5, rtol=1e-3, atol=1e-3)
    assert slopes[-1] > 1


def test_libors_threads_take_several_paths_each(gpu):
    run = workload("LIB", "tiny", paths=300, ctas=2, rates=6, periods=3).run(gpu)
    assert run.launches[0].block == (64, 1, 1)


def test_libor_without_spread_has_one_price(gpu):
    values = workload("LIB", "tiny", spread=0.0).run(gpu).outputs["values"]
    assert len(set(values.tolist())) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rates": 90}, "rates is 90; with 6 periods it must be from 7 to 46"),
        ({"periods": 41}, "from 1 to 40"),
        ({"paths": 0}, "1 path"),
    ],
)
def test_libor_says_what_it_cannot_do(wrong, message):
    with pytest.raises(WorkloadError, match=message):
        workload("LIB", "tiny", **wrong).inputs()


# AES ------------------------------------------------------------------------------------------------------------------

PLAIN = bytes.fromhex("00112233445566778899aabbccddeeff")
CIPHER = {  # FIPS-197, appendix C
    128: bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a"),
    256: bytes.fromhex("8ea2b7ca516745bfeafc49904b496089"),
}


@pytest.mark.parametrize("bits", CIPHER)
def test_aes_gives_the_standards_example_both_ways(gpu, bits):
    key = np.arange(bits // 8, dtype=np.uint8)
    for decrypt, given, expected in ((False, PLAIN, CIPHER[bits]), (True, CIPHER[bits], PLAIN)):
        data = {"text": np.frombuffer(64 * given, np.uint8), "key": key, "decrypt": decrypt}
        assert outputs(gpu, "AES", data)["text"].tobytes() == 64 * expected
        assert workload("AES", "tiny").definition.reference(data)["text"].tobytes() == 64 * expected


def test_aes_expands_keys_as_the_standard_says():
    """FIPS-197, appendices A.1 and A.3: the last words."""
    short = expanded(np.frombuffer(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), np.uint8))
    long = expanded(np.frombuffer(bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"), np.uint8))
    assert (short.shape, bytes(short[-1]).hex()) == ((44, 4), "b6630ca6")
    assert (long.shape, bytes(long[-1]).hex()) == ((60, 4), "706c631e")


@pytest.mark.parametrize("bits", CIPHER)
def test_aes_decrypts_what_it_encrypted(gpu, bits):
    data = workload("AES", "tiny", key_bits=bits).inputs()
    secret = outputs(gpu, "AES", data)["text"]
    assert np.count_nonzero(secret == data["text"]) < 0.02 * len(secret)
    assert np.array_equal(outputs(gpu, "AES", data | {"text": secret, "decrypt": True})["text"], data["text"])


def test_aes_has_the_suites_picture_and_grid():
    data = workload("AES", "paper").inputs()
    assert data["text"][:2].tobytes() == b"BM"
    assert int(data["text"][2:6].view("<u4")[0]) == 262_198
    assert len(data["text"]) == 257 * 1024


def test_aes_encrypts_a_picture_of_ones_own(gpu, tmp_path):
    run = workload("AES", "tiny", files={"image": grey_map(tmp_path / "own.pgm", 9, 31)}).run(gpu)
    assert run.launches[0].grid == (2, 1, 1)  # 54 and 4 x 279 bytes


def test_aes_says_what_it_cannot_do(tmp_path):
    with pytest.raises(WorkloadError, match="key_bits is 192; it must be 128 or 256"):
        workload("AES", "tiny", key_bits=192).inputs()
    with pytest.raises(InputFileError, match="279 bytes of pixels are expected, and there are 270"):
        workload("AES", "tiny", files={"image": grey_map(tmp_path / "short.pgm", 9, 31, bytes_missing=9)}).inputs()


# RAY ------------------------------------------------------------------------------------------------------------------


def test_ray_tracing_stops_at_pictures_that_fill_no_whole_cta(gpu):
    run = workload("RAY", "tiny", width=21, height=11).run(gpu)
    assert run.launches[0].grid == (2, 2, 1)


def test_ray_tracing_without_spheres_sees_the_plane_and_the_sky(gpu):
    pixels = workload("RAY", "tiny", spheres=0).run(gpu).outputs["pixels"]
    assert (pixels[-1] == (0, 0, 0, 255)).all()  # the sky is black
    assert (pixels[0, :, 0] == 0).all()  # the plane is cyan
    assert (pixels[0, :, 1] == pixels[0, :, 2]).all()
    assert pixels[0, :, 1].min() > 40


def test_ray_tracing_compares_nearly_all_pixels():
    for seed in range(4):
        assert workload("RAY", "tiny", seed=seed, spheres=8).inputs()["doubtful"].mean() < 0.1


def test_ray_tracing_of_many_spheres(gpu):
    assert workload("RAY", "tiny", spheres=12, seed=5).run(gpu).checked


def test_ray_tracing_says_what_it_cannot_do():
    with pytest.raises(WorkloadError, match="spheres is 16; it must be from 0 to 15"):
        workload("RAY", "tiny", spheres=16).inputs()
    with pytest.raises(WorkloadError, match="-4 x 8 pixels"):
        workload("RAY", "tiny", width=-4, height=8).inputs()


# SAD ------------------------------------------------------------------------------------------------------------------


def test_sad_finds_the_motion_of_the_camera(gpu):
    run = workload("SAD", "tiny", width=48, height=48).run(gpu)
    middle = run.outputs["16x16"].reshape(3, 3, 21, 21)[1, 1]
    assert np.unravel_index(middle.argmin(), middle.shape) == (10 + 3, 10 - 5)


def test_sad_of_a_frame_with_itself_is_zero_in_the_middle(gpu):
    frame = np.random.default_rng(2).integers(0, 256, (16, 32), dtype=np.uint16)
    found = outputs(gpu, "SAD", {"reference": frame, "frame": frame, "search": 16})
    for shape, sums in found.items():
        assert (sums[:, 16 * 33 + 16] == 0).all(), shape
        assert (np.delete(sums, 16 * 33 + 16, axis=1) > 0).all(), shape


def test_sad_of_black_against_white_fills_sixteen_bits(gpu):
    data = {"reference": np.zeros((16, 16), np.uint16), "frame": np.full((16, 16), 255, np.uint16), "search": 10}
    for shape, sums in outputs(gpu, "SAD", data).items():
        width, height = map(int, shape.split("x"))
        assert (sums == 255 * width * height).all()


def test_sad_has_sixty_one_threads_for_parboils_search(gpu):
    run = workload("SAD", "tiny", search=16).run(gpu)
    assert [launch.block for launch in run.launches] == [(61, 1, 1), (32, 4, 1), (32, 1, 1)]
    assert run.dynamic_shared[0] == 2192


def test_sad_compares_frames_of_ones_own(gpu, tmp_path):
    files = {"reference": grey_map(tmp_path / "one.pgm", 20, 35), "frame": grey_map(tmp_path / "two.pgm", 20, 35)}
    run = workload("SAD", "tiny", files=files).run(gpu)
    assert run.launches[0].grid == (8, 4, 1)
    assert (run.outputs["4x4"][:, 10 * 21 + 10] == 0).all()


def test_sad_says_what_it_cannot_do(tmp_path):
    one, other = grey_map(tmp_path / "one.pgm", 20, 35), grey_map(tmp_path / "two.pgm", 35, 20)
    for given, message in (
        ({"width": 40}, "40 x 16 pixels are no whole number of macroblocks"),
        ({"search": 8}, "search is 8; it must be 10 or 16"),
        ({"files": {"frame": one}}, "both frames are needed"),
        ({"files": {"frame": one, "reference": other}}, "of one size, not 20x35 and 35x20"),
    ):
        with pytest.raises(WorkloadError, match=message):
            workload("SAD", "tiny", **given).inputs()


# JPEG -----------------------------------------------------------------------------------------------------------------


def test_jpeg_of_an_even_picture_is_one_coefficient_a_block(gpu):
    data = {"image": np.full((16, 32), 37, np.float32), "steps": np.full((8, 8), 1, np.float32)}
    found = outputs(gpu, "JPEG", data)
    for version in (1, 2):
        coefficients = found[f"coefficients{version}"].copy()
        assert np.allclose(coefficients[::8, ::8], 8 * 37)
        coefficients[::8, ::8] = 0
        assert np.abs(coefficients).max() < 1e-3
        assert np.allclose(found[f"image{version}"], 37)


def test_jpeg_loses_more_the_coarser_its_steps(gpu):
    loss = []
    for coarseness in (0.01, 1.0, 4.0):
        chosen = workload("JPEG", "tiny", coarseness=coarseness)
        difference = chosen.run(gpu).outputs["image1"] - chosen.inputs()["image"]
        loss.append(float(np.abs(difference).mean()))
    assert loss[0] < 1 < loss[1] < loss[2]


def test_jpeg_cuts_a_picture_of_ones_own_to_whole_tiles(gpu, tmp_path):
    run = workload("JPEG", "tiny", files={"image": grey_map(tmp_path / "own.pgm", 40, 70)}).run(gpu)
    assert run.outputs["image1"].shape == (32, 64)
    assert [(launch.grid, launch.block) for launch in run.launches[2:4]] == [((8, 4, 1), (8, 8, 1)), ((2, 2, 1), (8, 4, 2))]


def test_jpeg_moves_few_pixels_and_by_one_level(tmp_path):
    path = grey_map(tmp_path / "own.pgm", 64, 128)
    image = workload("JPEG", "tiny", files={"image": path}).inputs()["image"]
    given = np.frombuffer(path.read_bytes()[-64 * 128 :], np.uint8).reshape(64, 128).astype(float) - 128
    moved = np.abs(image - given)
    assert set(np.unique(moved)) <= {0, 1}
    assert moved.mean() < 0.01


def test_jpeg_says_what_it_cannot_do(tmp_path):
    with pytest.raises(WorkloadError, match="at least 32x16 pixels, not 31x64"):
        workload("JPEG", "tiny", width=31, height=64).inputs()
    with pytest.raises(WorkloadError, match="at least 32x16 pixels, not -8x64"):
        workload("JPEG", "tiny", width=-8, height=64).inputs()
    (tmp_path / "no.pgm").write_bytes(b"GIF89a")
    with pytest.raises(InputFileError, match="'P2' or 'P5' is expected"):
        workload("JPEG", "tiny", files={"image": tmp_path / "no.pgm"}).inputs()


# WP -------------------------------------------------------------------------------------------------------------------

WATER = ("q", "qc", "qi", "qr", "qs")


def water(data, fields):
    """Of all columns, in kg a square metre."""
    mass = data["den"].astype(float) * data["delz"]
    return (sum(fields[name].astype(float) for name in WATER) * mass).sum(1)


def test_weather_neither_makes_nor_loses_water(gpu):
    data = workload("WP", "tiny", width=16, depth=9, levels=12).inputs()
    found = outputs(gpu, "WP", data)
    assert np.allclose(water(data, found) + found["rain"], water(data, data), rtol=2e-5)
    assert found["rain"].max() > 0.1 > found["snow"].max()


def test_dry_air_stays_as_it_is(gpu):
    data = workload("WP", "tiny").inputs()
    nothing = np.zeros_like(data["q"])
    found = outputs(gpu, "WP", data | dict.fromkeys(WATER[1:], nothing) | {"q": 0.1 * data["q"]})
    assert np.allclose(found["th"], data["th"], rtol=1e-6)
    assert np.array_equal(found["q"], 0.1 * data["q"])
    assert all((found[name] == 0).all() for name in (*WATER[1:], "rain", "snow"))


def test_snow_that_falls_into_warm_air_melts_and_cools_it(gpu):
    data = workload("WP", "tiny", levels=20).inputs()
    warm = data["th"] * data["pii"] > 280
    snow = np.where(warm, 1e-3, 0).astype(np.float32)
    found = outputs(gpu, "WP", data | dict.fromkeys(WATER[1:], 0 * data["q"]) | {"qs": snow, "q": 0.98 * data["q"]})
    cooled = (found["th"] < data["th"])[warm]
    assert (found["qr"][warm] > 0).mean() > 0.9
    assert cooled.mean() > 0.9


def test_a_long_step_is_several_small_ones(gpu):
    assert workload("WP", "tiny", step=300.0, levels=9).run(gpu).checked


def test_weather_stops_at_the_last_column(gpu):
    run = workload("WP", "tiny", width=9, depth=17, levels=3).run(gpu)
    assert (run.launches[0].grid, run.launches[0].block) == ((2, 3, 1), (8, 8, 1))


def test_weather_says_what_it_cannot_do():
    for given, message in (
        ({"levels": 29}, "levels is 29; it must be from 2 to 28"),
        ({"width": -1}, "-1 x 8 columns"),
        ({"step": 0.0}, "above 0"),
    ):
        with pytest.raises(WorkloadError, match=message):
            workload("WP", "tiny", **given).inputs()
