// Cooperative groups: the block, tiles of a warp, and the lanes that happen to be together.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_sums(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int value = in[block.thread_rank()];
    for (int away = tile.size() / 2; away > 0; away /= 2) value += tile.shfl_down(value, away);
    if (tile.thread_rank() == 0) out[block.thread_rank() / 8] = value;
}

extern "C" __global__ void group_reduce(const int *in, int *out)
{
    __shared__ int of_warp[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int most = cg::reduce(warp, in[block.group_index().x * block.size() + block.thread_rank()], cg::greater<int>());
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = most;
    block.sync();
    if (block.thread_rank() == 0) {
        int best = of_warp[0];
        for (int w = 1; w < block.size() / 32; w++) best = max(best, of_warp[w]);
        out[block.group_index().x] = best;
    }
}

extern "C" __global__ void append_together(const int *in, int *out, int *count)
{
    if (in[threadIdx.x] % 3 == 0) {
        cg::coalesced_group together = cg::coalesced_threads();
        int start = 0;
        if (together.thread_rank() == 0) start = atomicAdd(count, together.size());
        out[together.shfl(start, 0) + together.thread_rank()] = in[threadIdx.x];
    }
}

extern "C" __global__ void grid_ranks(unsigned long long *out)
{
    cg::grid_group grid = cg::this_grid();
    out[grid.thread_rank()] = grid.size() * 1000 + grid.thread_rank();
}
