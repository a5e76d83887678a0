"""DRAM scheduling: which bank's next command a channel sends. A file's name is the policy's name."""
