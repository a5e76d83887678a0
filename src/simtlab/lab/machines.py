"""The machine a run is timed on: `--gpu caps-gtx480 --set l1d.ways=8 --policy warp_scheduler=two-level,active_warps=6`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import ConfigError, SimtlabError
from simtlab.machine.hooks import CHOICES, MECHANISMS
from simtlab.policies.choice import PolicyChoice, read_choice
from simtlab.sampling.settings import Sampling, read_sampling

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.machine.config import MachineConfig

NO_PROFILE, BASELINE = PROFILES = ("none", "baseline")
POLICY_EXAMPLES = "for example warp_scheduler=gto, warp_scheduler=two-level,active_warps=6 or warp_scheduler=./mine.py"


@dataclass(frozen=True)
class Saves:
    """How often a timed run is saved and where, and what it goes on from."""

    minutes: float | None
    file: Path
    resume: Path | None

    def apply(self, gpu: Gpu) -> None:
        if self.minutes is not None:
            gpu.save_every(60 * self.minutes, self.file)
        if self.resume is not None:
            gpu.resume(self.resume)


@dataclass(frozen=True)
class Host:
    """What changes nothing that is computed or counted: host threads, where a timed launch is given up, checks of policies,
    whether other processes can map device memory, where a run is saved."""

    threads: int | None = None
    max_cycles: int | None = None
    check_policies: bool = False
    memory_in_file: bool = False
    prepare: Callable[[Gpu], None] | None = None  # called with the GPU before anything runs on it
    saves: Saves | None = None


@dataclass(frozen=True)
class MachineChoice:
    """A preset, a file or a configuration, keys changed, policies by slot. Without a `gpu` the run is functional.

    With the profile "baseline", mechanisms know what each load found in the L1 in a run of the same program without them.
    """

    gpu: str | MachineConfig | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, PolicyChoice] = field(default_factory=dict)
    isa: str | None = None  # of a functional run; a machine has the key core.isa
    sample: Sampling | None = None  # simulate in detail only in part (docs/sampling.md)
    profile: str = NO_PROFILE

    def without_mechanisms(self) -> MachineChoice:
        """What the profile is of."""
        policies = {slot: policy for slot, policy in self.policies.items() if slot not in MECHANISMS}
        return replace(self, policies=policies, profile=NO_PROFILE)

    def over(self, other: MachineChoice) -> MachineChoice:
        """What this one says, and what the other says beyond it."""
        changes, policies = {**other.changes, **self.changes}, {**other.policies, **self.policies}
        sample = self.sample or other.sample
        if self.isa is not None and other.gpu is not None:
            return MachineChoice(other.gpu, {**changes, "core.isa": self.isa}, policies, sample=sample, profile=self.profile)
        return MachineChoice(self.gpu or other.gpu, changes, policies, self.isa, sample, self.profile)

    def build(self, host: Host, profile: Sequence[Run] = ()) -> Gpu:
        """The GPU, functional or timed; `profile` are launches on the machine without mechanisms."""
        gpu = self._built(host, profile)
        if host.prepare is not None:
            host.prepare(gpu)
        if host.saves is not None:
            host.saves.apply(gpu)
        return gpu

    def _built(self, host: Host, profile: Sequence[Run]) -> Gpu:
        if self.gpu is None:
            of_machine: dict[str, Any] = {"--set": self.changes, "--policy": self.policies}
            of_machine |= {"--max-cycles": host.max_cycles, "--check-policies": host.check_policies, "--sample": self.sample}
            of_machine |= {"--save-every": host.saves and host.saves.minutes, "--resume": host.saves and host.saves.resume}
            for name, given in of_machine.items():
                if given:
                    raise ConfigError(f"{name} is for timed runs and needs a machine: add --gpu, for example --gpu caps-gtx480")
        from simtlab.host.gpu import Gpu

        if self.gpu is None:
            return Gpu(threads=host.threads, memory_in_file=host.memory_in_file, isa=self.isa)
        try:
            policies: dict[str, Any] = dict(self.policies)
            options = {name: value for name, value in vars(host).items() if name not in ("prepare", "saves")}
            return Gpu(self.gpu, set=self.changes, sample=self.sample, profile=profile, **options, **policies)
        except (SimtlabError, MemoryError):
            raise
        except Exception as problem:  # whatever the code of a policy outside the package can raise
            outside = [policy.name for policy in self.policies.values() if policy.name.endswith(".py")]
            if not outside:
                raise
            raise ConfigError(f"policy {' or '.join(outside)}: {type(problem).__name__}: {problem}") from None

    def as_json(self) -> dict[str, Any]:
        policies = {
            slot: {"name": policy.name, "parameters": dict(policy.parameters)} for slot, policy in self.policies.items()
        }
        sample = {"sample": str(self.sample)} if self.sample else {}
        profile = {"profile": self.profile} if self.profile != NO_PROFILE else {}
        return {"gpu": self.gpu, "set": dict(self.changes), "policies": policies, **sample, **profile}

    def __str__(self) -> str:
        policies = [f"{slot}={policy}" for slot, policy in self.policies.items()]
        sample = [f"sample={self.sample}"] if self.sample else []
        profile = [f"profile={self.profile}"] if self.profile != NO_PROFILE else []
        return ", ".join([str(self.gpu), *(f"{key}={value}" for key, value in self.changes.items()), *policies, *sample, *profile])


def choose(
    gpu: str | None, changes: Sequence[str], policies: Sequence[str], isa: str | None = None, sample: str | None = None
) -> MachineChoice:
    """The machine that the options name."""
    changed: dict[str, Any] = {}
    if changes:
        from simtlab.machine.config import parse_override

        changed = dict(map(parse_override, changes))
    if gpu is not None and isa is not None:
        changed["core.isa"] = isa
    own_isa = None if gpu is not None else isa
    return MachineChoice(gpu, changed, dict(map(parse_policy, policies)), own_isa, read_sampling(sample))


def parse_policy(text: str) -> tuple[str, PolicyChoice]:
    """`warp_scheduler=two-level,active_warps=6` as a slot and what is to be in it."""
    slot, equals, chosen = (part.strip() for part in text.partition("="))
    try:
        if not (slot and equals and chosen):
            raise ValueError("it must be a slot and a policy")
        return read_slot(slot), read_choice(chosen)
    except ValueError as problem:
        raise ConfigError(f"bad --policy '{text}': {problem}; {POLICY_EXAMPLES}") from None


def read_slot(name: str) -> str:
    slot = name.replace("-", "_")
    if slot not in CHOICES:
        raise ValueError(f"there is no slot '{name}', only {', '.join(CHOICES)}")
    return slot
