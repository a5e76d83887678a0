"""The lanes that take a branch run first, however few or many they are."""

from simtlab.policies.hook import hook


@hook
def first(warp, own, taken, cycle):
    return 1
