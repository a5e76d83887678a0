"""One stored result: what was chosen, what was counted, and the code that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from simtlab.lab.errors import StoreError
from simtlab.lab.record import unpack
from simtlab.lab.store.store import Store
from simtlab.machine.hooks import CHOICES
from simtlab.machine.ratios import CORE_CYCLES, RATIOS, dyncta_type


@dataclass(frozen=True)
class Result:
    """A stored result; its tables are read when they are asked for."""

    plain: Mapping[str, Any]  # key, workload, size, gpu, cycles, …
    inputs: Mapping[str, Any]
    changes: Mapping[str, Any]
    policies: Mapping[str, Any]
    counters: Mapping[str, int | float]
    occupancy: Sequence[Mapping[str, Any]]
    machine: Mapping[str, Any]
    store: str | PathLike | None = field(default=None, compare=False, repr=False)  # where its tables are

    @property
    def key(self) -> str:
        return self.plain["key"]

    @property
    def choices(self) -> dict[str, Any]:
        """What was chosen: workload, size, machine, policies, changed keys, the workload's parameters."""
        found = {name: self.plain[name] for name in ("workload", "size", "gpu")}
        found |= {slot: policy["label"] for slot, policy in self.policies.items()}
        found |= dict(self.changes)
        found |= {"sample": self.inputs["sample"]} if "sample" in self.inputs else {}
        found |= self.inputs.get("beside", {})
        return found | {"seed": self.inputs["seed"], **self.inputs["parameters"], **self.inputs["files"]}

    @property
    def sources(self) -> dict[str, str | None]:
        """Digests of the code that made it: simtlab's, the program's, the policies'; None in results of an older simtlab."""
        found = {f"{slot}.sources": policy.get("sources") for slot, policy in self.policies.items()}
        return {"sources": self.plain["sources"], "workload.sources": self.inputs.get("sources"), **found}

    def table(self, name: str) -> dict[str, list[Any]]:
        """The columns of one of its tables: `launches`, `instructions`, `intervals`, `loads`, …. Every look reads the store."""
        question = "SELECT data FROM tables JOIN results ON result = id WHERE key = ? AND tables.name = ?"
        with Store(self.store, write=False) as store:
            for (data,) in store.rows(question, (self.key, name)):
                return unpack(data)
        raise StoreError(f"the result {self.key} has no table '{name}'")

    def over_time(self, name: str) -> tuple[list[int], list[float]]:
        """The cycle at which each interval of the run ended, and what a counter gained in it, or what a ratio was."""
        table = {column: np.array(values) for column, values in self.table("intervals").items()}
        if name not in RATIOS and name not in table:
            raise StoreError(f"nothing is known of '{name}' over time; there are counters ({', '.join(table)}) and "
                             f"ratios ({', '.join(RATIOS)})")  # fmt: skip
        return table["cycle"].tolist(), (RATIOS[name].of(table) if name in RATIOS else table[name]).tolist()

    def value(self, name: str) -> Any:
        """Anything of the result by its name: a column, a policy, a machine's key, a counter, a ratio of counters; None if it has
        no such thing."""
        if name in self.plain:
            return self.plain[name]
        if name in self.policies:
            return self.policies[name]["label"]
        if name in CHOICES:
            return "none"
        slot, _, parameter = name.partition(".")
        if slot in self.policies and parameter in self.policies[slot]["parameters"]:
            return self.policies[slot]["parameters"][parameter]
        if name in RATIOS:
            return RATIOS[name].of(self.counters) if set(RATIOS[name].below + RATIOS[name].above) <= set(self.counters) else None
        if name == "dyncta_type":
            return dyncta_type(self.counters) if set(CORE_CYCLES) <= set(self.counters) else None
        for group in (self.sources, self.machine, self.counters, self.inputs["parameters"], self.inputs["files"],
                      self.inputs.get("beside", {})):  # fmt: skip
            if name in group:
                return group[name]
        return self.inputs.get(name, "off" if name == "sample" else None) if name in ("seed", "sample") else None

    def names(self) -> list[str]:
        """Everything `value` knows."""
        parameters = [f"{slot}.{name}" for slot, policy in self.policies.items() for name in policy["parameters"]]
        inputs = [*self.inputs["parameters"], *self.inputs["files"], *self.inputs.get("beside", {})]
        choices = ["seed", "sample", *self.policies, *parameters]
        return [*self.plain, *RATIOS, "dyncta_type", *choices, *self.sources, *self.machine, *self.counters, *inputs]
