"""The page of all keys: `python -m simtlab.machine.config.document > docs/configuration.md`."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from simtlab.machine.config.core import OPERATIONS, Operation
from simtlab.machine.config.load import load, presets
from simtlab.machine.config.machine import SECTIONS, shown
from simtlab.machine.config.memory import Cache

INTRODUCTION = """\
# Machine configuration

A machine is a TOML preset, checked when it is loaded: an unknown key or an impossible value is an error that names the
key, the value and what is allowed.

```python
from simtlab.machine.config import load, presets

machine = load("gtx480")                                    # a preset, or the path of your own .toml file
larger = machine.replace({"l1d.bytes": 49152, "l1d.ways": 6, "shared_memory.bytes": 16384})
faster = load("gtx480", ["clocks.dram_mhz=1848"])           # overrides as text, as on the command line
```

Your own file may build on a preset with `base = "gtx480"` and give only what differs. A key without a default must be
given there or in the base. In the presets every number is followed by its source.

This page is generated: `python -m simtlab.machine.config.document > docs/configuration.md`.
"""

CACHE_SECTIONS = tuple(name for name, kind in SECTIONS.items() if issubclass(kind, Cache))


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_preset_table(), *_sections()]) + "\n"


def _preset_table() -> Iterator[str]:
    yield "## Presets\n"
    yield "| preset | executes | cores | core MHz | L1 KB | shared KB | L2 KB | DRAM | peak GB/s |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name in presets():
        machine = load(name)
        sizes = (machine.l1d.bytes, machine.shared_memory.bytes, machine.l2.total_bytes)
        kilobytes = " | ".join(f"{size // 1024}" for size in sizes)
        memory = f"{machine.dram.channels} × {machine.dram.kind}"
        speed = f"{machine.peak_dram_bandwidth / 1e9:.1f}"
        core = f"{machine.core.isa} | {machine.core.cores} | {machine.clocks.core_mhz:g}"
        yield f"| `{name}` | {core} | {kilobytes} | {memory} | {speed} |"
    yield ""


def _sections() -> Iterator[str]:
    for name, kind in SECTIONS.items():
        if name == CACHE_SECTIONS[0]:
            yield from _table(", ".join(CACHE_SECTIONS), "Keys of every cache. Of the L2, one slice.", fields(Cache))
        own = [f for f in fields(kind) if name not in CACHE_SECTIONS or f.name not in Cache.__dataclass_fields__]
        if own:
            yield from _table(name, _sentence(kind), own)
        if name == "units":
            operations = ", ".join(OPERATIONS)
            yield from _table("units.*operation*", f"{_sentence(Operation)} Operations: {operations}.", fields(Operation))


def _sentence(kind: Any) -> str:
    return kind.__doc__.splitlines()[0]


def _table(title: str, sentence: str, keys: Any) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{sentence}\n"
    yield "| key | unit | meaning | default | allowed |"
    yield "|---|---|---|---|---|"
    yield from (_row(key) for key in keys if not is_dataclass(key.type))
    yield ""


def _row(key: Field) -> str:
    default = "none: must be given" if key.default is MISSING else f"`{shown(key.default)}`"
    unit, meaning, allowed = (key.metadata[part] for part in ("unit", "meaning", "allowed"))
    return f"| `{key.name}` | {unit} | {meaning} | {default} | {allowed} |"


if __name__ == "__main__":
    print(page(), end="")
