"""Who waits for whom, when a machine makes no progress: every queue, table and warp that holds something up."""

from simtlab.machine.build import Records


def who_waits(records: Records) -> str:
    lines = []
    for core in records.cores:
        if core.occupied:
            lines.append(
                f"core {core.number}: warps {int(core.occupied):#x}, waiting for memory {int(core.long):#x}, at barriers "
                f"{int(core.barrier):#x}; {int(core.mshr.used)} MSHRs, {int(core.inject.count)} requests to send, "
                f"{int(core.ldst_queue.count)} in the load/store unit"
            )
    for piece in records.slices:
        if piece.input.count or piece.mshr.used or piece.to_dram.count or piece.output.count:
            lines.append(f"L2 slice {piece.number}: {int(piece.input.count)} in, {int(piece.output.count)} out, "
                         f"{int(piece.mshr.used)} MSHRs, {int(piece.to_dram.count)} for DRAM")  # fmt: skip
    for number, channel in enumerate(records.channels):
        if channel.queued:
            banks = [b for b in range(int(channel.n_banks)) if channel.nominees[b].position >= 0]
            lines.append(f"DRAM channel {number}: {int(channel.queued)} requests, for banks {banks}")
    return "\n".join(lines)
