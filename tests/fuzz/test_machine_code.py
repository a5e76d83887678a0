"""Machine code with something wrong in it runs or gives an error of simtlab's: never a traceback, a signal or a hang.

`make fuzz` tries more of it. A child process does so: registers, shared and local memory end at guard pages there, and launches
that take longer than a quarter of a second are stopped as Ctrl-C stops them.
"""

import json

import pytest

from simtlab.errors import SimtlabError
from simtlab.frontend.sass import disassemble
from tests.fuzz import machine_code
from tests.fuzz.test_mutants import python

MUTANTS = """
from tests.fuzz import machine_code
from tests.fuzz.runner import machine_code_campaign
report = machine_code_campaign(first={first}, count={count}, processes=1, make=machine_code.{make})
assert sum(report.outcomes.values()) == {count}, report.outcomes
assert report.outcomes["ran"] > {count} // 10, report.outcomes  # many are good programs still
assert not report.findings, report.findings
"""


def check(count: int, make: str, first: int = 1_000_000) -> None:
    done = python(MUTANTS.format(count=count, make=make, first=first))
    assert done.returncode == 0, done.stderr


def test_100_listings_with_something_wrong_give_nothing_but_good_runs_and_clean_errors():
    check(100, "with_another_answer")


def test_12_cubins_with_other_bytes_of_code_give_nothing_but_good_runs_and_clean_errors():
    check(12, "with_other_bytes")


@pytest.mark.slow
def test_many_cubins_with_other_bytes_of_code_give_nothing_but_good_runs_and_clean_errors():
    check(200, "with_other_bytes", first=2_000_000)


@pytest.mark.slow
def test_many_listings_with_something_wrong_give_nothing_but_good_runs_and_clean_errors():
    check(3000, "with_another_answer", first=2_000_000)


# What is kept on disk -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch, tmp_path) -> list[bytes]:
    """The cubins that nvdisasm is asked about; it says what it says of machine_code's, and its answers are kept in a folder."""
    calls: list[bytes] = []
    said = machine_code.as_it_is().text.encode()
    monkeypatch.setattr(disassemble, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(disassemble, "disassembled", lambda cubin: calls.append(cubin) or said)
    disassemble.listing.cache_clear()
    yield calls
    disassemble.listing.cache_clear()


@pytest.mark.parametrize("damage", [
    b"", b"[", b"null", b"{}", b"[1]", b'[{"function-name": 3}]', b'[{"function-name": "k"}]', b"\xff\xfe\x00", b"[" * 100_000,
    b'[{"function-name": "k", "sass-instructions": [{"operands": "R1"}]}]', b"1" * 10_000,
    b'[{"function-name": "k", "sass-instructions": [{"opcode": "NOP", "operands": 3}]}]',
], ids=list("abcdefghijkl"))  # fmt: skip
def test_a_damaged_file_of_the_cache_is_made_anew(asked, tmp_path, damage):
    good = disassemble.listing(b"a cubin")
    (file,) = (tmp_path / "sass").iterdir()
    kept = file.read_bytes()
    file.write_bytes(damage)
    disassemble.listing.cache_clear()
    assert disassemble.listing(b"a cubin") == good
    assert asked == [b"a cubin"] * 2
    assert file.read_bytes() == kept


def test_a_good_file_of_the_cache_is_not(asked):
    disassemble.listing(b"a cubin")
    disassemble.listing.cache_clear()
    disassemble.listing(b"a cubin")
    assert asked == [b"a cubin"]


ANSWERS = [b"", b"{}", b"[1, 2]", b"[1, [2]]", b'[{}, [{"sass-instructions": 3}]]', b"[" * 100_000]


@pytest.mark.parametrize("answer", ANSWERS, ids=list("abcdef"))
def test_an_answer_of_nvdisasm_that_is_no_listing_is_a_clean_error(answer):
    with pytest.raises(SimtlabError, match="no JSON that simtlab knows"):
        disassemble.functions_in(answer)


def test_mutants_of_a_listing_keep_most_of_it():
    texts = {machine_code.with_another_answer(number).text for number in range(40)}
    assert len(texts) > 35  # at times the instruction that replaces another is the same
    assert sum(len(text) > len(json.dumps(machine_code.answer())) // 2 for text in texts) > 30
