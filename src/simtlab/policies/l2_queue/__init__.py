"""The queue of an L2 slice: who goes first. A file's name is the policy's name."""
