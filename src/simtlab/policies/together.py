"""All policies of a machine: those it comes with, those that were named instead, and mechanisms, which fill slots too."""

from collections.abc import Mapping

from simtlab.errors import ConfigError
from simtlab.machine.config import MachineConfig
from simtlab.machine.hooks import MECHANISMS
from simtlab.policies.choice import PolicyChoice, read_choice
from simtlab.policies.load import Policy, load


def choose_policies(config: MachineConfig, choices: Mapping[str, PolicyChoice], check: bool) -> dict[str, Policy]:
    """The policies by slot, the mechanisms last. A mechanism takes the place of what the machine comes with; where a policy for
    its slot was named, or another mechanism fills it, it is refused."""
    policies = {slot: load(slot, choice.name, check, **choice.parameters) for slot, choice in choices.items()}
    taken = {slot: f"{slot} = {choice}" for slot, choice in choices.items()}
    for slot in MECHANISMS:
        if slot not in policies:
            continue
        mechanism = policies.pop(slot)
        policies[slot] = mechanism
        for filled in sorted(mechanism.filled):
            if filled in taken:
                both = f"{slot} = {choices[slot]} and {taken[filled]}"
                raise ConfigError(f"{both} both fill the slot {filled}; one of them must go")
            taken[filled] = f"{slot} = {choices[slot]}"
    own = {slot: read_choice(name) for slot, name in vars(config.policies).items() if slot not in taken}
    return {slot: load(slot, choice.name, check, **choice.parameters) for slot, choice in own.items()} | policies
