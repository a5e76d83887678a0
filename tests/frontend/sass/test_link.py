"""nvJitLink has a process of its own: where it breaks down, only that ends."""

import pytest

import simtlab as sl
from simtlab.errors import CompileError
from simtlab.frontend.sass import link

# nvJitLink 13 aborts on this one: a loop of 1,024 loads, each from where the last one says, that nobody reads.
CHASE = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a) {
  .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<4>;
  ld.param.u64 %d1, [a];
  mov.u32 %r1, 1024;
L: ld.global.u64 %d1, [%d1];
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra L;
  ret;
}"""


def test_a_linker_that_breaks_down_is_an_error():
    try:
        sl.Gpu(isa="sm_90").load(CHASE)
    except CompileError as problem:
        assert "nvJitLink broke down (SIGABRT)" in str(problem)  # noqa: PT017  (another version may link it)


def test_whatever_ends_the_linker_is_told(tmp_path, monkeypatch):
    child = tmp_path / "child.py"
    child.write_text("import os; os.abort()")
    monkeypatch.setattr(link, "CHILD", child)
    with pytest.raises(CompileError, match=r"text for sm_90: nvJitLink broke down \(SIGABRT\)"):
        link.linked(CHASE, "sm_90", "text")


def test_what_the_linker_says_of_bad_ptx_is_told():
    with pytest.raises(CompileError, match=r"mine for sm_90: (.|\n)*frobnicate"):
        link.linked(CHASE.replace("sub.u32", "frobnicate.u32"), "sm_90", "mine")
    with pytest.raises(CompileError, match="sm_20"):
        link.linked(CHASE, "sm_20", "mine")
