"""Put policies into a machine: their hooks' addresses where the machine asks, and a state for each unit they sit in."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simtlab.machine.build import Records
from simtlab.machine.limits import MAX_SCHEDULERS
from simtlab.policies.load import Policy


def attach(policy: Policy, records: Records, trouble: np.ndarray) -> np.ndarray:
    """Give every unit a state of its own, and say where it tells trouble; keep the returned array as long as the machine runs."""
    places = PLACES[policy.slot](records)
    states = policy.new_state(len(places))
    states["simtlab_trouble"], states["simtlab_unit"] = trouble.ctypes.data, np.arange(len(places))
    for number, place in enumerate(places):
        place(states.ctypes.data + number * policy.state.itemsize)
    hooks = records.gpu[0]["hooks"]
    for hook, address in policy.addresses.items():
        hooks[f"{policy.slot}_{hook}"] = address
    if policy.slot in ("l1_replacement", "l2_replacement"):
        for cache in caches_of(policy.slot, records):
            cache["victim_hook"] = policy.addresses["victim"]
    if policy.slot == "warp_scheduler":
        records.gpu[0].patient = getattr(policy.module, "patient", False)
    if policy.slot == "cta_throttle":
        records.cores["sample_period"] = policy.parameters.get("period", USUAL_PERIOD)
    if policy.slot == "network_arbiter":
        for contest in contests_of(records):
            contest["hook"] = policy.addresses["choose"]
    if policy.slot == "dram_scheduler":
        records.channels["choose_hook"] = policy.addresses["choose"]
    return states


USUAL_PERIOD = 2048  # cycles until a throttle without a period of its own is asked again, as often as DYNCTA's (section IV)
Place = Callable[[int], None]


def field(record: Any, name: str, index: int | None = None) -> Place:
    """Where the address of a state is kept."""

    def put(address: int) -> None:
        if index is None:
            record[name] = address
        else:
            record[name][index] = address

    return put


def caches_of(slot: str, records: Records) -> list[Any]:
    return [core["l1d"] for core in records.cores] if slot == "l1_replacement" else [part["cache"] for part in records.slices]


def contests_of(records: Records) -> list[Any]:
    return [network[kind]["contest"] for network in records.networks for kind in ("crossbar", "mesh")]


PLACES: dict[str, Callable[[Records], list[Place]]] = {
    "warp_scheduler": lambda r: [field(core, "own_warp_scheduler", s) for core in r.cores for s in range(MAX_SCHEDULERS)],
    "prefetcher": lambda r: [field(core, "own_prefetcher") for core in r.cores],
    "cta_throttle": lambda r: [field(core, "own_cta_throttle") for core in r.cores],
    "l1_allocation": lambda r: [field(core, "own_l1_allocation") for core in r.cores],
    "cta_dispatch": lambda r: [field(r.gpu[0], "own_cta_dispatch")],
    "l1_replacement": lambda r: [field(cache, "own") for cache in caches_of("l1_replacement", r)],
    "l2_replacement": lambda r: [field(cache, "own") for cache in caches_of("l2_replacement", r)],
    "network_arbiter": lambda r: [field(contest, "own") for contest in contests_of(r)],
    "dram_scheduler": lambda r: [field(channel, "own") for channel in r.channels],
    "divergence": lambda r: [field(r.gpu[0], "own_divergence")],
}
