"""The warp's context: its special registers, and how an instruction finds one by name."""

import numpy as np

from simtlab.isa.shape import LANES, UNIFORM, UNIFORM_64, VARYING

_XYZ = ("x", "y", "z")
_UNIFORM_WORDS = (
    *(f"{name}_{axis}" for name in ("ntid", "ctaid", "nctaid") for axis in _XYZ),
    "warpid", "nwarpid", "smid", "nsmid", "dynamic_smem_size", "total_smem_size", "zero", "one",
    "envreg1", "envreg2",  # the workspace of a cooperative launch, its address's high and low word, as NVIDIA's driver has it
)  # fmt: skip
_VARYING = ("tid_x", "tid_y", "tid_z", "laneid", *(f"lanemask_{name}" for name in ("eq", "lt", "le", "gt", "ge")))

context_t = np.dtype(
    [
        ("parameters", "i8"),  # host address of the kernel's parameters; ld.param expects it first
        ("parameter_address", "i8"),  # their device address
        ("frame", "i8"),  # where the current function's local frame begins, in local space
        ("clock64", "i8"),
        ("globaltimer", "i8"),
        ("gridid", "i8"),
        *((name, "u4") for name in _UNIFORM_WORDS),
        *((name, "u4", (LANES,)) for name in _VARYING),
    ],
    align=True,
)


def offset(field: str) -> int:
    """Where a field stands in the context, in bytes."""
    assert context_t.fields is not None
    return context_t.fields[field][1]


def special(name: str) -> tuple[str, int] | None:
    """The operand kind and offset of a special register ("tid.x"), or None if there is no such register here."""
    field = name.replace(".", "_")
    if field in _VARYING:
        return VARYING, offset(field)
    if field in _UNIFORM_WORDS:
        return UNIFORM, offset(field)
    if field in ("clock64", "globaltimer", "gridid"):
        return UNIFORM_64, offset(field)
    halves = {"clock": ("clock64", 0), "clock_hi": ("clock64", 4)}
    halves |= {"globaltimer_lo": ("globaltimer", 0), "globaltimer_hi": ("globaltimer", 4)}
    if field in halves:
        whole, part = halves[field]
        return UNIFORM, offset(whole) + part
    if field.startswith(("envreg", "pm")) or field in ("tid_w", "ctaid_w", "is_explicit_cluster", "aggr_smem_size"):
        return UNIFORM, offset("zero")
    if field.endswith("_w") or field.startswith(("cluster_nctaid", "nclusterid", "cluster_nctarank")):
        return UNIFORM, offset("one")
    if field.startswith(("clusterid", "cluster_ctaid", "cluster_ctarank")):
        return UNIFORM, offset("zero")
    return None


def reads_time(name: str) -> bool:
    """Whether a special register's value changes from one instruction to the next."""
    return name.startswith(("clock", "globaltimer"))


def fill_lanes(context: np.ndarray) -> None:
    """The parts that are the same in every warp of every launch."""
    lane = np.arange(LANES, dtype=np.uint64)
    one = np.uint64(1)
    equal = one << lane
    below = equal - one
    everything = np.uint64(0xFFFFFFFF)
    context["laneid"] = lane
    context["lanemask_eq"] = equal
    context["lanemask_lt"] = below
    context["lanemask_le"] = below | equal
    context["lanemask_gt"] = everything & ~(below | equal)
    context["lanemask_ge"] = everything & ~below
    context["one"] = 1
