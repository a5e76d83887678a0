"""What can go wrong in the lab."""

from simtlab.errors import SimtlabError


class StudyError(SimtlabError):
    """A study that cannot be run: an unknown key, workload, policy or machine, or axes that do not fit together."""


class StoreError(SimtlabError):
    """A store that cannot be used: of a newer simtlab, damaged, locked, read-only, or on a full disk."""


class StoreWarning(UserWarning):
    """Results of a store that cannot be read and are left out; all others can."""


class SourcesChanged(SimtlabError):
    """A program or policy that is no longer what it was when its experiment was planned."""


class ClusterError(SimtlabError):
    """A Dask cluster that cannot be reached or has gone, or whose workers have another simtlab."""
