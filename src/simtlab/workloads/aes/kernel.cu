// AES by tables. A CTA has 64 blocks of 16 bytes, a thread one column of four bytes: four look-ups, one for each row, give a
// round's substitution, shift and mix at once. Tables come from constant memory and are looked up in shared memory, where the
// state lies too; round keys are read through a texture. Byte r of a word is row r of its column.

#define THREADS 256

__constant__ unsigned TBox[4][256];                    // encryption, by row
__constant__ unsigned TBoxi[5][256];                   // decryption; the fifth is the plain inverse substitution
__constant__ unsigned char posIdx_E[16], posIdx_D[16]; // which column a column's row comes from

struct Sources {
    int word[4]; // of the state, by row
};

__device__ Sources sources(const unsigned char *columns)
{
    const int column = threadIdx.x % 4, block = threadIdx.x - column;
    Sources from;
#pragma unroll
    for (int row = 0; row < 4; row++)
        from.word[row] = block + columns[4 * column + row];
    return from;
}

__device__ unsigned byteOf(const unsigned *state, int word, int row)
{
    return reinterpret_cast<const unsigned char *>(state)[4 * word + row];
}

__device__ unsigned round(const unsigned *state, const Sources &from, unsigned (*tables)[256])
{
    unsigned mixed = 0;
#pragma unroll
    for (int row = 0; row < 4; row++)
        mixed ^= tables[row][byteOf(state, from.word[row], row)];
    return mixed;
}

// The last round does not mix: every table has the substitute itself in two of its bytes, of which one is at its row's place in
// the table of the row two further on.
__device__ unsigned lastRound(const unsigned *state, const Sources &from, unsigned (*tables)[256])
{
    unsigned column = 0;
#pragma unroll
    for (int row = 0; row < 4; row++)
        column |= tables[(row + 2) % 4][byteOf(state, from.word[row], row)] & 0xffu << 8 * row;
    return column;
}

__device__ unsigned lastInverseRound(const unsigned *state, const Sources &from, const unsigned *substitute)
{
    unsigned column = 0;
#pragma unroll
    for (int row = 0; row < 4; row++)
        column |= substitute[byteOf(state, from.word[row], row)] << 8 * row;
    return column;
}

template <int ROUNDS, bool DECRYPT>
__device__ void cipher(unsigned *result, const unsigned *input, cudaTextureObject_t keys)
{
    const int TABLES = DECRYPT ? 5 : 4;
    __shared__ unsigned one[THREADS], other[THREADS], tables[TABLES][256];
    const int t = threadIdx.x, column = t % 4;
    unsigned *state = one, *next = other;

    state[t] = input[THREADS * blockIdx.x + t];
#pragma unroll
    for (int table = 0; table < TABLES; table++)
        tables[table][t] = DECRYPT ? TBoxi[table][t] : TBox[table][t];
    __syncthreads();

    next[t] = state[t] ^ tex1Dfetch<unsigned>(keys, column);
    __syncthreads();
    const Sources from = sources(DECRYPT ? posIdx_D : posIdx_E);
#pragma unroll
    for (int k = 1; k < ROUNDS; k++) {
        unsigned *before = k % 2 ? next : state, *after = k % 2 ? state : next;
        after[t] = round(before, from, tables) ^ tex1Dfetch<unsigned>(keys, 4 * k + column);
        __syncthreads();
    }
    const unsigned *before = ROUNDS % 2 ? next : state;
    const unsigned last = DECRYPT ? lastInverseRound(before, from, tables[TABLES - 1]) : lastRound(before, from, tables);
    result[THREADS * blockIdx.x + t] = last ^ tex1Dfetch<unsigned>(keys, 4 * ROUNDS + column);
}

extern "C" __global__ void aesEncrypt128(unsigned *result, const unsigned *input, cudaTextureObject_t keys)
{
    cipher<10, false>(result, input, keys);
}

extern "C" __global__ void aesDecrypt128(unsigned *result, const unsigned *input, cudaTextureObject_t keys)
{
    cipher<10, true>(result, input, keys);
}

extern "C" __global__ void aesEncrypt256(unsigned *result, const unsigned *input, cudaTextureObject_t keys)
{
    cipher<14, false>(result, input, keys);
}

extern "C" __global__ void aesDecrypt256(unsigned *result, const unsigned *input, cudaTextureObject_t keys)
{
    cipher<14, true>(result, input, keys);
}
