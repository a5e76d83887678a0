// Concurrent queues: rings with a ticket for every operation. Half of a CTA's warps put items in, the others take as many out.
// Each place of a ring has a turn: 2r when it is free for the r-th item that comes there, 2r + 1 when that item is in it.

extern "C" __global__ void pass_on(const int *sent, int *received, unsigned *tails, unsigned *heads, unsigned *turns,
                                   volatile int *rings, int per_thread, int queues, unsigned capacity)
{
    int warp = threadIdx.x / 32, pairs = blockDim.x / 2, threads = gridDim.x * pairs;
    int number = blockIdx.x * pairs + warp / 2 * 32 + threadIdx.x % 32;
    int queue = blockIdx.x % queues;
    unsigned puts = warp % 2 == 0;
    unsigned *tickets = (puts ? tails : heads) + queue;
#pragma unroll 1
    for (int k = 0; k < per_thread; k++) {
        unsigned ticket = atomicAdd(tickets, 1);
        unsigned place = queue * capacity + ticket % capacity;
        unsigned turn = ticket / capacity * 2 + 1 - puts;
        bool done = false;
#pragma unroll 1
        while (!done) {
            if (atomicAdd(turns + place, 0) == turn) {  // a plain load could find an old turn in the L1
                if (puts)
                    rings[place] = sent[k * threads + number];
                else
                    received[k * threads + number] = rings[place];
                __threadfence();
                atomicExch(turns + place, turn + 1);
                done = true;
            }
        }
    }
}
