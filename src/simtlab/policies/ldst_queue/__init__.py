"""The order of memory instructions at the load/store unit. A file's name is the policy's name."""
