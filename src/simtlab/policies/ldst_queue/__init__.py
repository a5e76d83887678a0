"""Policies for the order of memory instructions."""
