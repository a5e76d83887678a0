"""The page of mechanisms is what its generator gives, and names every mechanism with its slots, events and cost."""

from pathlib import Path

import pytest

from simtlab.policies.choice import available
from simtlab.policies.document import does, events, mechanisms, page, parameters, policies, slots
from simtlab.policies.load import load

PAGE = Path(__file__).parents[2] / "docs" / "mechanisms.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == "\n".join(page()) + "\n", "python -m simtlab.policies.document > docs/mechanisms.md"


def test_every_mechanism_has_two_rows():
    lines = PAGE.read_text().splitlines()
    for name in available("mechanism"):
        assert sum(line.startswith(f"| `{name}` |") for line in lines) == 2


@pytest.mark.parametrize("name", ["mrpb", "medic", "equalizer", "ccws"])
def test_the_slots_on_the_page_are_those_that_are_filled(name):
    assert set(slots(mechanisms()[name])) == load("mechanism", name).filled


def test_what_a_mechanism_does_is_the_first_paragraph_without_whose_it_is():
    ccws = mechanisms()["ccws"]
    assert does(ccws) == "Cache-conscious warp scheduling: warps that lose locality keep others from loading."
    assert "on_l1_evict" in events(ccws)
    assert "`tags` = 16" in parameters(ccws)


def test_policies_of_one_slot_that_say_whose_they_are_are_there():
    assert {("network_arbiter", "row-locality"), ("cta_throttle", "dyncta"), ("warp_scheduler", "fair")} <= set(policies())
    assert ("warp_scheduler", "lrr") not in policies()
    assert all(module.bytes_a_core >= 0 for module in policies().values())


def test_half_routers_are_there_with_what_they_need_and_what_they_save():
    (found,) = [line for line in page() if line.startswith("| `network.half_routers` = true |")]
    assert "Bakhoda, Kim, Aamodt, MICRO 2010" in found
    assert "`network.slice_placement` = checkerboard" in found
    assert "492 crosspoints instead of 652" in found
