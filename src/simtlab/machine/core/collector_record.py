"""The state of a collector unit (operand_collector.py)."""

from simtlab.machine.record import record_t

MAX_SOURCES = 8

collector_t = record_t(
    [
        ("op", "i8"),
        ("slot", "i8"),
        ("wanted", "u8"),  # operands not read yet (bits)
        ("sub_core", "i2"),
        ("unit", "i2"),  # that it is for,
        ("throttle", "i2"),  # … and what its warp and others wait for as long as that takes no more, a Stall
        ("count", "i2"),
        ("banks", "i1", (MAX_SOURCES,)),
    ]
)
