"""Mechanisms: policies for several slots with one state."""
