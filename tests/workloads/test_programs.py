"""Every workload gives what its reference says, and is as large as its size promises."""

import inspect
from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.loading import CATEGORIES, SIZES, find, load

NAMES = sl.workloads()
MOST_TINY_INSTRUCTIONS = 40_000  # "about 30 K"
SMALL_INSTRUCTIONS = (1_000_000, 5_000_000)
SPINNING = {"ATM", "HT"}  # so many in a timed run, most of them tries that fail


@cache
def done(name, size):
    return sl.workload(name, size=size).run(sl.Gpu())


@pytest.mark.parametrize("name", NAMES)
def test_tiny_equals_the_reference(name):
    run = done(name, "tiny")
    assert run.checked
    assert 0 < run.instructions <= MOST_TINY_INSTRUCTIONS
    assert run.instructions == sum(launch.instructions for launch in run.launches)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_small_equals_the_reference(name):
    least, most = SMALL_INSTRUCTIONS
    assert (0 if name in SPINNING else least) < done(name, "small").instructions <= most


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_gives_another_input_and_is_right_too(name):
    other = sl.workload(name, size="tiny", seed=1)
    first, second = sl.workload(name, size="tiny").inputs(), other.inputs()
    assert any(not np.array_equal(first[key], second[key]) for key in first if key in second)
    assert other.run(sl.Gpu()).checked


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_input_every_time(name):
    first, second = (sl.workload(name, size="tiny", seed=3).inputs() for _ in range(2))
    for key, value in first.items():
        assert np.array_equal(np.asarray(value), np.asarray(second[key])), key


@pytest.mark.parametrize("name", NAMES)
def test_a_check_that_sees_nothing_is_no_check(name):
    """The reference differs from what the outputs would be if the kernels had done nothing."""
    program = sl.workload(name, size="tiny")

    class Idle:
        """A launcher whose launches compute nothing."""

        def __init__(self, gpu, module):
            self.gpu, self.module, self.array, self.zeros = gpu, module, gpu.array, gpu.zeros
            self.launches = 0

        def launch(self, *arguments, **options):
            self.launches += 1
            if self.launches > 1000:
                raise RuntimeError("a program that goes on until its kernels say stop")
            return sl.Run("nothing", (1, 1, 1), (1, 1, 1), 0)

    from simtlab.workloads.check import check

    gpu = sl.Gpu()
    data = program.inputs()
    try:
        outputs = program.definition.run(Idle(gpu, program.compile(gpu)), data)
    except Exception:
        return  # a program that cannot even end without its kernels
    with pytest.raises(sl.WrongResult):
        check(name, outputs, program.definition.reference(data), program.definition.TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_says_what_it_is(name):
    definition = load(find(name))
    assert name == definition.NAME
    assert tuple(definition.SIZES) == SIZES
    assert definition.CATEGORY in CATEGORIES
    text = inspect.cleandoc(definition.__doc__)
    assert text.startswith(name)
    assert definition.SUITE.split()[0].split("/")[0] in text
    assert definition.CATEGORY in text.lower()


def test_kernels_through_textures_cluster_the_same():
    plain, texture = (sl.workload("KM", size="tiny", texture=on).run(sl.Gpu()) for on in (False, True))
    assert np.array_equal(plain.outputs["centres"], texture.outputs["centres"])
    assert {launch.kernel for launch in texture.launches} == {"invert_mapping", "kmeansPointTexture"}


def test_the_larger_tile_of_matrix_multiplication():
    run = sl.workload("MM", size="tiny", tile=32).run(sl.Gpu())
    assert [(launch.grid, launch.block) for launch in run.launches] == [((2, 2, 1), (32, 32, 1))]


@pytest.mark.parametrize("kind", ["rmat", "uniform", "road"])
def test_breadth_first_search_on_every_kind_of_graph(kind):
    run = sl.workload("BFS", size="tiny", kind=kind, nodes=600).run(sl.Gpu())
    assert run.outputs["cost"].max() + 1 == len(run.launches) / 2
    assert (run.outputs["cost"] >= 0).mean() > 0.5


def test_hotspot_with_a_last_launch_of_fewer_steps():
    run = sl.workload("HSP", size="tiny", steps=5, pyramid=2).run(sl.Gpu())
    assert len(run.launches) == 3
