"""DRAM refresh: every bank is refreshed once in t_refi, `refresh_banks` of them together, for t_rfc each time.

A refresh closes the rows of its banks, after the time they must stay open, and keeps the banks closed. It takes no command slot
here. Refreshes that a sleeping channel has missed are made up for when it is next looked at; nothing could have seen them before.
"""

from simtlab.compiled import compiled
from simtlab.machine.memory.bank import ACTIVATE, PRECHARGE
from simtlab.machine.memory.dram_channel import NO_ROW


@compiled
def catch_up(channel, cycle):
    """All refreshes that were due by now; whether there were any."""
    if channel.t_refi == 0 or cycle < channel.next_refresh:
        return False
    sets = channel.n_banks // channel.refresh_banks
    period = channel.t_refi // sets
    missed = (cycle - channel.next_refresh) // period + 1
    for k in range(max(0, missed - sets), missed):  # those before have been refreshed again since
        refresh(channel, (channel.refreshes + k) % sets, channel.next_refresh + k * period)
    channel.refreshes += missed
    channel.next_refresh += missed * period
    return True


@compiled
def refresh(channel, set, cycle):
    """Close the banks of a set and keep them until they are refreshed."""
    for number in range(set * channel.refresh_banks, (set + 1) * channel.refresh_banks):
        bank = channel.banks[number]
        begin = max(cycle, bank.ready[ACTIVATE])
        if bank.open_row != NO_ROW:
            begin = max(cycle, bank.ready[PRECHARGE]) + channel.t_rp
            bank.open_row = NO_ROW
            channel.precharges += 1
        bank.ready[ACTIVATE] = max(bank.ready[ACTIVATE], begin + channel.t_rfc)
