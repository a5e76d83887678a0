"""Warp schedulers: which ready warp issues next. A file's name is the policy's name."""
