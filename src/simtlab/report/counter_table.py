"""The table of all counters with unit and meaning, as docs/stalls.md has it: python -m simtlab.report.counter_table prints it."""

from simtlab.machine.counters import COUNTERS

BEGIN, END = "<!-- counters: python -m simtlab.report.counter_table -->", "<!-- end of counters -->"
WHERE = {
    "cores": "cores",
    "slices": "L2 slices",
    "channels": "DRAM channels",
    "requests": "network to memory",
    "replies": "network back",
}


def counter_table() -> str:
    """A row for each counter, in the order in which they are declared."""
    rows = [f"| `{counter.name}` | {counter.unit} | {counter.meaning} | {WHERE[counter.of]} |" for counter in COUNTERS]
    return "\n".join(["| counter | unit | meaning | summed over |", "|---|---|---|---|", *rows])


if __name__ == "__main__":
    print(counter_table())
