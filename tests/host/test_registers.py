"""A kernel's registers: ptxas's count where it came from CUDA C++, simtlab's own where it came as PTX; both can be seen."""

import pytest

import simtlab as sl
from simtlab.host import gpu as host
from tests.frontend.test_cubin import CALLS, MANY_LIVE, TOO_MUCH_SHARED, counts
from tests.frontend.test_cuda import SAXPY

REGISTERS_OF_A_CORE = 32768  # caps-gtx480


@pytest.fixture(scope="module")
def fermi():
    return sl.Gpu("caps-gtx480")


@pytest.fixture
def asked(monkeypatch):
    """Whether each compilation was asked for registers."""
    seen = []

    def compile_cuda(*arguments, count_registers, **options):
        seen.append(count_registers)
        return real(*arguments, count_registers=count_registers, **options)

    real = host.compile_cuda
    monkeypatch.setattr(host, "compile_cuda", compile_cuda)
    return seen


def test_a_functional_run_pays_for_no_count_until_somebody_asks(asked):
    kernel = sl.Gpu().compile(SAXPY + MANY_LIVE.replace("BOUNDS", ""))["saxpy"]
    gpu = kernel.module.gpu
    kernel(1, 32, [1, 2.0, gpu.zeros(1), gpu.zeros(1)])
    assert asked == [False]
    assert kernel.registers == counts(SAXPY).by_name["saxpy"]
    assert kernel.module["k"].registers > 64
    assert asked == [False, True]  # once for the whole module


def test_a_machine_has_the_count_from_the_compilation_that_gave_the_ptx(fermi, asked):
    kernel = fermi.compile(SAXPY)["saxpy"]
    assert kernel.registers == counts(SAXPY).by_name["saxpy"]
    assert kernel.program.registers_from == "ptxas for sm_75"
    assert asked == [True]


@pytest.mark.parametrize(("option", "most"), [("--maxrregcount=40", 40), ("-DNOTHING", 255)])
def test_ptxas_decides_how_many_ctas_fit(fermi, option, most):
    kernel = fermi.compile(MANY_LIVE.replace("BOUNDS", ""), options=[option])["k"]
    assert kernel.registers <= most
    run = kernel(1, 256, [fermi.zeros(300)])
    assert run.timing.occupancy.limited_by == "registers"
    assert run.timing.occupancy.ctas == REGISTERS_OF_A_CORE // (256 * (kernel.registers + kernel.registers % 2))


def test_ptx_has_simtlabs_own_count(fermi):
    compiled = fermi.compile(SAXPY)["saxpy"].program
    loaded = fermi.load(compiled.module.text)["saxpy"].program
    assert loaded.registers == loaded.own_registers == compiled.own_registers
    assert loaded.ptxas_registers is None
    assert loaded.registers_from == "simtlab (the kernel came as PTX)"


def test_where_ptxas_refuses_simtlabs_own_count_is_used_and_says_so(fermi):
    program = fermi.compile(TOO_MUCH_SHARED)["k"].program
    assert program.registers == program.own_registers > 0
    assert program.registers_from.startswith("simtlab (ptxas error : Entry function 'k' uses too much shared data")


def test_in_relocatable_code_the_function_that_needs_most_decides(fermi):
    by_name = counts(CALLS, "-rdc=true").by_name
    assert by_name["_Z1fff"] > by_name["k"]
    assert fermi.compile(CALLS, options=["-rdc=true"])["k"].registers == by_name["_Z1fff"]
    assert fermi.compile(CALLS)["k"].registers == counts(CALLS).by_name["k"]  # ptxas has seen all of it


def test_the_machine_does_not_choose_the_architecture_that_ptxas_counts_for():
    """Deviation 14."""
    named = {machine: sl.Gpu(machine).compile(SAXPY)["saxpy"].program.registers_from for machine in ("caps-gtx480", "v100")}
    assert set(named.values()) == {"ptxas for sm_75"}
    asked = sl.Gpu("h200").compile(SAXPY, options=["-arch=sm_90"])["saxpy"]
    assert asked.program.registers_from == "ptxas for sm_90"


def test_unrolled_kernels_need_more_than_simtlab_would_give_them():
    module = sl.workload("CNV", size="tiny").compile(sl.Gpu())
    for name in ("convolutionRowsKernel", "convolutionColumnsKernel"):
        program = module[name].program
        assert program.own_registers < 40 < program.registers
