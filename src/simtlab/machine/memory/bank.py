"""A DRAM bank's row buffer and what each command makes later commands wait for.

A row is opened by an activate, accessed by columns, closed by a precharge. Every command moves forward the first cycle at
which others may follow: in its bank, in its bank group (t_ccdl) or in the whole channel (t_rrd, the data bus).
"""

from simtlab.compiled import compiled
from simtlab.machine.memory.dram_channel import NO_ROW, Command, Direction

ACTIVATE, PRECHARGE = int(Command.ACTIVATE), int(Command.PRECHARGE)
COLUMN_READ, COLUMN_WRITE = int(Command.READ), int(Command.WRITE)
READ, WRITE = int(Direction.READ), int(Direction.WRITE)


@compiled
def needed(bank, entry):
    """The command that brings a request to this bank one step on."""
    if bank.open_row == NO_ROW:
        return ACTIVATE
    if bank.open_row != entry.row:
        return PRECHARGE
    return COLUMN_READ + entry.direction


@compiled
def activate(channel, bank, row, cycle):
    """Open a row."""
    bank.open_row = row
    bank.ready[COLUMN_READ] = cycle + channel.t_rcd
    bank.ready[COLUMN_WRITE] = cycle + channel.t_rcdwr
    bank.ready[PRECHARGE] = cycle + channel.t_ras
    bank.ready[ACTIVATE] = cycle + channel.t_rc
    channel.ready[ACTIVATE] = cycle + channel.t_rrd
    channel.activates += 1


@compiled
def precharge(channel, bank, cycle):
    """Close the open row."""
    bank.open_row = NO_ROW
    bank.ready[ACTIVATE] = max(bank.ready[ACTIVATE], cycle + channel.t_rp)
    channel.precharges += 1


@compiled
def column_read(channel, bank, cycle):
    """Read one burst from the open row; gives the cycle by which its data has arrived."""
    bank.ready[PRECHARGE] = max(bank.ready[PRECHARGE], cycle + channel.read_to_precharge)
    channel.group_ready[bank.group] = cycle + channel.t_ccdl
    channel.ready[COLUMN_READ] = cycle + channel.same_direction
    channel.ready[COLUMN_WRITE] = cycle + channel.t_rtw
    channel.bus_cycles += channel.burst_cycles
    channel.read_accesses += 1
    return cycle + channel.t_cl + channel.burst_cycles


@compiled
def column_write(channel, bank, cycle):
    """Write one burst to the open row; gives the cycle by which its data has been taken in."""
    bank.ready[PRECHARGE] = max(bank.ready[PRECHARGE], cycle + channel.write_to_precharge)
    channel.group_ready[bank.group] = cycle + channel.t_ccdl
    channel.ready[COLUMN_WRITE] = cycle + channel.same_direction
    channel.ready[COLUMN_READ] = cycle + channel.write_to_read
    channel.bus_cycles += channel.burst_cycles
    channel.write_accesses += 1
    return cycle + channel.t_wl + channel.burst_cycles
