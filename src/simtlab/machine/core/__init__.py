"""The SIMT core: fetch, scoreboard, issue, operand collector, execution units, load/store unit."""
