"""Policies for who goes first at an L2 slice."""
