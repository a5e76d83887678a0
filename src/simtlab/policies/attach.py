"""Put policies into a machine: their hooks' addresses where the machine asks, and a state for each unit they sit in."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simtlab.machine.build import Records
from simtlab.machine.hooks import EVENT_NUMBERS, MECHANISMS, POINTS
from simtlab.machine.limits import MAX_CTAS, MAX_SCHEDULERS
from simtlab.policies.compile_hooks import points_of
from simtlab.policies.load import Policy

USUAL_PERIOD = 2048  # cycles until a throttle without a period of its own is asked again, as often as DYNCTA's (section IV)
Place = Callable[[int], None]


def attach(policy: Policy, records: Records, trouble: np.ndarray, number: int = 0) -> np.ndarray:
    """Give every unit a state of its own, and say where it tells trouble; keep the returned array as long as the machine runs.

    `number` is the policy's among the machine's."""
    units = units_of(policy, records)
    states = policy.new_state(units)
    states["simtlab_trouble"], states["simtlab_unit"], states["simtlab_policy"] = trouble.ctypes.data, np.arange(units), number
    addresses = [states.ctypes.data + k * policy.state.itemsize for k in range(units)]
    for hook, point in points_of(policy.slot).items():
        if policy.addresses[hook]:
            slot, name = POINTS[point][:2]
            listen(name, policy, records) if slot == "" else set_hook(slot, name, policy.addresses[hook], records)
    for slot in policy.filled:
        places = PLACES[slot](records)
        for k, place in enumerate(places):
            place(addresses[k * units // len(places)])
    if policy.slot in MECHANISMS:
        give_states(policy, addresses, records)
    if "cta_throttle" in policy.filled:
        records.cores["sample_period"] = policy.parameters.get("period", USUAL_PERIOD)
    if "ldst_queue" in policy.filled and policy.parameters.get("queue_entries", 0) > 0:
        entries, cores = policy.parameters["queue_entries"], records.cores
        cores["ldst_queue"]["limit"] = entries
        share = np.maximum(entries // cores["sub_cores"], 1)
        cores["queue_share"] = np.where(cores["return_cycles"] > 0, share, cores["queue_share"])
    if "preemption" in policy.filled:
        records.cores["cta_slots"] = np.minimum(2 * records.cores["cta_slots"], MAX_CTAS)  # those that are switched out keep theirs
    if "clocks" in policy.filled:
        records.gpu[0].clock_period = policy.parameters["period"]
    is_patient = getattr(policy.module, "patient", False)
    if policy.slot == "warp_scheduler" or policy.addresses.get("warp_scheduler_pick") or policy.addresses.get("allow"):
        records.gpu[0].patient = is_patient and (policy.slot == "warp_scheduler" or records.gpu[0].patient)
    return states


def units_of(policy: Policy, records: Records) -> int:
    """How many states a policy has: of a mechanism one for each core or one in all, else one for each unit of its slot."""
    if policy.slot in MECHANISMS:
        return 1 if policy.is_shared else len(records.cores)
    return len(PLACES[policy.slot](records))


def give_states(policy: Policy, addresses: list[int], records: Records) -> None:
    """A mechanism's states, where its events are told."""
    place = MECHANISMS.index(policy.slot)
    records.cores["own"][:, place] = addresses if len(addresses) > 1 else addresses[0]
    records.slices["own"][:, place] = addresses[0]
    records.cores["tick_period"][:, place] = policy.parameters.get("period", 1)
    records.gpu[0].shares_state |= policy.is_shared
    records.cores["l1d"]["tracked"] = records.slices["cache"]["tracked"] = 1


def listen(event: str, policy: Policy, records: Records) -> None:
    """One listener more to an event."""
    hooks = records.gpu[0]["hooks"]
    listeners = hooks["listeners"][EVENT_NUMBERS[event]]
    free = int(np.argmax(listeners["address"] == 0))
    listeners["address"][free], listeners["place"][free] = policy.addresses[event], MECHANISMS.index(policy.slot)
    hooks["listening"] |= np.uint64(1 << EVENT_NUMBERS[event])


def set_hook(slot: str, hook: str, address: int, records: Records) -> None:
    """Where a decision is asked for."""
    records.gpu[0]["hooks"][f"{slot}_{hook}"] = address
    if slot in ("l1_replacement", "l2_replacement"):
        for cache in caches_of(slot, records):
            cache[f"{hook}_hook"], cache["tracked"] = address, 1
    if slot in ("l2_allocation", "l2_queue"):
        records.slices["cache"]["tracked"] = 1
    if slot == "network_arbiter":
        for contest in contests_of(records):
            contest["hook"] = address
    if slot == "dram_scheduler":
        records.channels[f"{hook}_hook"] = address


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


# Of each slot where its units keep the address of their state, core by core where they are of cores.
PLACES: dict[str, Callable[[Records], list[Place]]] = {
    "warp_scheduler": lambda r: [field(core, "own_warp_scheduler", s) for core in r.cores for s in range(MAX_SCHEDULERS)],
    "prefetcher": lambda r: [field(core, "own_prefetcher") for core in r.cores],
    "cta_throttle": lambda r: [field(core, "own_cta_throttle") for core in r.cores],
    "ldst_queue": lambda r: [field(core, "own_ldst_queue") for core in r.cores],
    "l1_allocation": lambda r: [field(core, "own_l1_allocation") for core in r.cores],
    "cta_dispatch": lambda r: [field(r.gpu[0], "own_cta_dispatch")],
    "l1_replacement": lambda r: [field(cache, "own") for cache in caches_of("l1_replacement", r)],
    "l2_replacement": lambda r: [field(cache, "own") for cache in caches_of("l2_replacement", r)],
    "l2_allocation": lambda r: [field(part, "own_l2_allocation") for part in r.slices],
    "l2_queue": lambda r: [field(part, "own_l2_queue") for part in r.slices],
    "network_arbiter": lambda r: [field(contest, "own") for contest in contests_of(r)],
    "dram_scheduler": lambda r: [field(channel, "own") for channel in r.channels],
    "preemption": lambda r: [field(core, "own_preemption") for core in r.cores],
    "clocks": lambda r: [field(r.gpu[0], "own_clocks")],
    "divergence": lambda r: [field(r.gpu[0], "own_divergence")],
}
