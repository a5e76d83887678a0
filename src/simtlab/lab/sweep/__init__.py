"""Sweeps: many experiments from one description, run on many processes, losing nothing.

`sweep` crosses the axes, `study` reads them from TOML, `plan` says what is missing, `loop` runs it on workers: this machine's
processes (`pool`, each of them `worker`) or a Dask cluster (`cluster`).
"""
