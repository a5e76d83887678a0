// Transfers between accounts: a thread locks both accounts, the one with the lower number first, and moves the amount.
// Where the second lock is taken, the first is given back in the same turn of the loop, and both are tried again.

extern "C" __global__ void transfer(const int *from, const int *to, const int *amounts, int *locks, volatile int *balances,
                                    int transfers)
{
#pragma unroll 1
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < transfers; k += gridDim.x * blockDim.x) {
        int payer = from[k], payee = to[k], amount = amounts[k];
        int first = min(payer, payee), second = max(payer, payee);
        bool done = false;
#pragma unroll 1
        while (!done) {
            if (atomicCAS(locks + first, 0, 1) == 0) {
                if (atomicCAS(locks + second, 0, 1) == 0) {
                    balances[payer] -= amount;
                    balances[payee] += amount;
                    __threadfence();
                    atomicExch(locks + second, 0);
                    done = true;
                }
                atomicExch(locks + first, 0);
            }
        }
    }
}
