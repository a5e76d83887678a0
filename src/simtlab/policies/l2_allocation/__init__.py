"""L2 allocation: which reads leave the L2 alone. A file's name is the policy's name."""
