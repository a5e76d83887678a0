"""L1 replacement: which line of a set is evicted. A file's name is the policy's name."""
