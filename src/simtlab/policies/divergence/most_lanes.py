"""Of the splits of a warp that can go on, the one with the most lanes does; of equal ones, the one that has waited longest."""

from simtlab.policies.hook import bit_of, count_bits, entry_at, hook


@hook
def turn(warp, own, could, cycle):
    best, most = -1, 0
    for k in range(32):
        lanes = count_bits(entry_at(warp, k).mask) if could & bit_of(k) else 0
        if lanes > most:
            best, most = k, lanes
    return best
