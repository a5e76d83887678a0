"""Policies for what leaves the L2 alone."""
