"""The machine a run is timed on: `--gpu caps-gtx480 --set l1d.ways=8 --policy warp_scheduler=two-level,active_warps=6`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import ConfigError, SimtlabError

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

SLOTS = ("warp_scheduler",)
POLICY_EXAMPLES = "for example warp_scheduler=gto, warp_scheduler=two-level,active_warps=6 or warp_scheduler=./mine.py"


@dataclass(frozen=True)
class PolicyChoice:
    """A policy by name or by the path of its file, with some of its parameters."""

    name: str
    parameters: Mapping[str, int | float] = field(default_factory=dict)

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{name}={value}" for name, value in self.parameters.items())])


USUAL_POLICIES = {"warp_scheduler": PolicyChoice("lrr")}


@dataclass(frozen=True)
class MachineChoice:
    """A preset or a file, keys changed, policies by slot. Without a `gpu` the run is functional."""

    gpu: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, PolicyChoice] = field(default_factory=dict)

    def over(self, other: MachineChoice) -> MachineChoice:
        """What this one says, and what the other says beyond it."""
        return MachineChoice(self.gpu or other.gpu, {**other.changes, **self.changes}, {**other.policies, **self.policies})

    def chosen_policies(self) -> dict[str, PolicyChoice]:
        """The policy of every slot that has one, where nothing was said the usual one."""
        return {**USUAL_POLICIES, **self.policies}

    def build(self, threads: int | None) -> Gpu:
        """The GPU, functional or timed."""
        if self.gpu is None:
            for name, given in (("--set", self.changes), ("--policy", self.policies)):
                if given:
                    raise ConfigError(f"{name} is for timed runs and needs a machine: add --gpu, for example --gpu caps-gtx480")
        from simtlab.host.gpu import Gpu

        if self.gpu is None:
            return Gpu(threads=threads)
        scheduler = self.chosen_policies()["warp_scheduler"]
        try:
            gpu = Gpu(self.gpu, warp_scheduler=scheduler.name, policy_parameters=scheduler.parameters, set=self.changes,
                      threads=threads)  # fmt: skip
        except (SimtlabError, MemoryError):
            raise
        except Exception as problem:  # whatever the code of a policy outside the package can raise
            if not scheduler.name.endswith(".py"):
                raise
            raise ConfigError(f"policy {scheduler.name}: {type(problem).__name__}: {problem}") from None
        check_parameters(gpu, scheduler)
        return gpu

    def as_json(self) -> dict[str, Any]:
        policies = {
            slot: {"name": policy.name, "parameters": dict(policy.parameters)} for slot, policy in self.policies.items()
        }
        return {"gpu": self.gpu, "set": dict(self.changes), "policies": policies}

    def __str__(self) -> str:
        policies = [f"{slot}={policy}" for slot, policy in self.policies.items()]
        return ", ".join([str(self.gpu), *(f"{key}={value}" for key, value in self.changes.items()), *policies])


def check_parameters(gpu: Gpu, policy: PolicyChoice) -> None:
    """A parameter that its field of the policy's state cannot hold would be cut off silently."""
    assert gpu.machine is not None
    state = gpu.machine.policy.state
    for name, value in policy.parameters.items():
        if name in (state.names or ()) and state[name].kind in "iu" and not isinstance(value, int):
            raise ConfigError(f"policy '{policy.name}': {name} = {value} is impossible: allowed is a whole number")


def choose(gpu: str | None, changes: Sequence[str], policies: Sequence[str]) -> MachineChoice:
    """The machine that the options name."""
    if not changes:
        return MachineChoice(gpu, {}, dict(map(parse_policy, policies)))
    from simtlab.machine.config import parse_override

    return MachineChoice(gpu, dict(map(parse_override, changes)), dict(map(parse_policy, policies)))


def parse_policy(text: str) -> tuple[str, PolicyChoice]:
    """`warp_scheduler=two-level,active_warps=6` as a slot and what is to be in it."""
    slot, equals, chosen = (part.strip() for part in text.partition("="))
    try:
        if not (slot and equals and chosen):
            raise ValueError("it must be a slot and a policy")
        return read_slot(slot), read_policy(chosen)
    except ValueError as problem:
        raise ConfigError(f"bad --policy '{text}': {problem}; {POLICY_EXAMPLES}") from None


def read_slot(name: str) -> str:
    slot = name.replace("-", "_")
    if slot not in SLOTS:
        raise ValueError(f"there is no slot '{name}', only {', '.join(SLOTS)}")
    return slot


def read_policy(text: str, folder: Path = Path()) -> PolicyChoice:
    """`two-level,active_warps=6`. A file's name is relative to `folder`; a ValueError says what is wrong."""
    name, *given = (part.strip() for part in text.split(","))
    parameters: dict[str, int | float] = {}
    for part in given:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ValueError(f"'{part}' is no parameter with a value")
        parameters[key] = _number(key, value)
    if not name:
        raise ValueError("it names no policy")
    return PolicyChoice(str(folder / name) if name.endswith(".py") else name, parameters)


def _number(key: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"parameter {key} is '{text}', which is no number")
