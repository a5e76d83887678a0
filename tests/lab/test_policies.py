"""The lab reads a policy's parameters and limits without running its file: all of simtlab's own can be read so."""

import pytest

from simtlab.lab.sources import policy_defaults, policy_file, policy_limits
from simtlab.machine.hooks import MECHANISMS, SLOTS
from simtlab.policies.load import available, digest_of, load

SHIPPED = [(slot, name) for slot in (*SLOTS, *MECHANISMS) for name in available(slot)]


@pytest.mark.parametrize(("slot", "name"), SHIPPED, ids=lambda part: part)
def test_parameters_and_limits_are_plain(slot, name):
    path = policy_file(slot, name)
    module = load(slot, name).module
    assert policy_defaults(path) == getattr(module, "parameters", {})
    assert policy_limits(path) == getattr(module, "limits", {})


def test_a_folder_named_like_a_file_beside_a_policy_does_not_matter(policy):
    before = digest_of(policy)
    (policy.parent / "folder.py").mkdir()
    assert digest_of(policy) == before
