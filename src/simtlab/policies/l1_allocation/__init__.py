"""L1 allocation: which loads leave the L1 alone. A file's name is the policy's name."""
