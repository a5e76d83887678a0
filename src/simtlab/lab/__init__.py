"""The lab: experiments as values, a store of their results, sweeps over many of them, and studies of papers on top.

`experiment` says what one run is and gives it a key; `run_experiment` runs it; `store` keeps results; `sweep` runs what is
missing, on this machine's processes or on a Dask cluster; `paper` turns a sweep into figures and a page.
"""
