"""L2 replacement: which line of a set makes room. A file's name is the policy's name."""
