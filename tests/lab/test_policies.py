"""The lab reads a policy's parameters and limits without running its file: all of simtlab's own can be read so."""

import pytest

from simtlab.errors import ConfigError
from simtlab.lab.sources import policy_defaults, policy_file, policy_limits
from simtlab.lab.sweep.sweep import Sweep
from simtlab.machine.hooks import SLOTS
from simtlab.policies.load import available, digest_of, import_policy
from simtlab.policies.victims import MOST_TAGS

SHIPPED = [(slot, name) for slot in (*SLOTS, "mechanism") for name in available(slot)]


@pytest.mark.parametrize(("slot", "name"), SHIPPED, ids=lambda part: part)
def test_parameters_and_limits_are_plain(slot, name):
    path = policy_file(slot, name)
    module = import_policy(name, path, f"only_read_{name}", False)
    assert policy_defaults(path) == getattr(module, "parameters", {})
    assert policy_limits(path) == getattr(module, "limits", {})


def test_a_second_mechanism_has_the_same_files():
    assert policy_file("mechanism_2", "mrpb") == policy_file("mechanism", "mrpb")
    chosen = Sweep("MM", "tiny", "gtx480", policies={"mechanism": "ccws", "mechanism_2": "mrpb"})
    (experiment,) = chosen.experiments()
    assert experiment.ingredients()["policies"]["mechanism_2"]["label"] == "mrpb"


def test_limits_may_be_constants_of_the_file_and_of_files_it_imports(policy):
    policy.write_text(
        "from simtlab.policies.victims import MOST_TAGS as MOST\nLEAST, USUAL = 2, 4\n"
        'parameters = {"tags": USUAL}\nlimits = {"tags": (LEAST, MOST)}\n'
    )
    assert policy_defaults(policy) == {"tags": 4}
    assert policy_limits(policy) == {"tags": (2, MOST_TAGS)}


def test_a_parameter_that_is_worked_out_is_an_error(policy):
    policy.write_text("import os\nparameters = {\"tags\": len(os.sep)}\n")
    with pytest.raises(ConfigError, match="parameters must be a dict of plain values"):
        policy_defaults(policy)


def test_a_folder_named_like_a_file_beside_a_policy_does_not_matter(policy):
    before = digest_of(policy)
    (policy.parent / "folder.py").mkdir()
    assert digest_of(policy) == before
