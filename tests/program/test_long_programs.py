"""A program four times as long takes four times as long to read and to build, not sixteen times."""

import time

import pytest

from simtlab.frontend.parser import parse
from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.liveness import Usage
from simtlab.program.reach import reachable
from simtlab.program.registers import allocate

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
BETWEEN_LINEAR_AND_QUADRATIC = 9


def seconds(work):
    """The shorter of two: what else runs on the machine only adds."""
    found = []
    for _ in range(2):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def grows_in_proportion(work_of, size):
    """Tried up to three times: a machine that is busy with other things gives any factor once."""
    return any(seconds(work_of(4 * size)) < BETWEEN_LINEAR_AND_QUADRATIC * seconds(work_of(size)) for _ in range(3))


def one_kernel(lines):
    body = "\n".join(f"add.u32 %r{k + 2}, %r{k + 1}, %r{k};" for k in range(lines))
    return f"{HEAD}.entry k() {{ .reg .b32 %r<{lines + 2}>;\n{body}\nret; }}"


def many_kernels(lines):
    return HEAD + "".join(one_kernel(10).removeprefix(HEAD).replace(" k()", f" k{k}()") for k in range(lines // 10))


def many_labels(lines):
    body = "\n".join(f"L{k}: bra L{(7 * k) % lines};" for k in range(lines))
    return f"{HEAD}.entry k() {{\n{body}\nret; }}"


def a_table(lines):
    numbers = ",\n".join(str(k % 251) for k in range(4 * lines))
    return f"{HEAD}.global .align 4 .b8 table[{4 * lines}] = {{ {numbers} }};"


def many_scopes(lines):
    body = "\n".join("{ .reg .b32 %r<4>; add.u32 %r1, %r2, %r3; }" for _ in range(lines))
    return f"{HEAD}.entry k() {{\n{body}\nret; }}"


@pytest.mark.parametrize("text_of", [one_kernel, many_kernels, many_labels, a_table, many_scopes])
def test_reading(text_of):
    def work_of(size):
        text = text_of(size)
        return lambda: parse(text)

    assert grows_in_proportion(work_of, 1000)


def chain(size):
    """Each value is made from the two before it."""
    usages = [Usage(frozenset({k, k + 1}), frozenset({k + 2}), True) for k in range(size)]
    return [Flow()] * (size - 1) + [Flow(falls_through=False, leaves=True)], usages


def branches(size):
    """Every fourth instruction makes a new value from the last and skips the next three, which use it for others of their own."""
    flows, _ = chain(size)
    reads = [({k}, {k + 3}, {k - 1}, {k - 1})[k % 4] for k in range(size)]
    writes = [({k + 4}, {k}, {k}, set())[k % 4] for k in range(size)]
    usages = [Usage(frozenset(read), frozenset(written), True) for read, written in zip(reads, writes, strict=True)]
    return [Flow((k + 4,)) if k % 4 == 0 and k + 4 < size else flow for k, flow in enumerate(flows)], usages


def endless_loops(size):
    """Every tenth instruction is a loop without a way out, behind a branch that leads past it."""
    flows, _ = chain(size)
    for k in range(0, size - 10, 10):
        flows[k], flows[k + 1] = Flow((k + 2,)), Flow((k + 1,), falls_through=False)
    return flows, [Usage(frozenset(), frozenset(), True)] * size


@pytest.mark.parametrize("program_of", [chain, branches, endless_loops])
def test_finding_blocks_and_registers(program_of):
    def work_of(size):
        flows, usages = program_of(size)
        return lambda: allocate(ControlFlowGraph(flows), usages, "w" * (size + 4))

    assert grows_in_proportion(work_of, 6000)


def test_finding_the_functions_that_a_kernel_reaches():
    def work_of(size):
        functions = "".join(f".func f{k} () {{ call f{k + 1}; ret; }}\n" for k in range(size))
        module = parse(f"{HEAD}{functions}.func f{size} () {{ ret; }}\n.entry k() {{ call f0; ret; }}")
        return lambda: reachable(module, "k")

    assert grows_in_proportion(work_of, 500)
