// Sums of absolute differences for motion estimation with blocks of seven shapes. The first kernel compares every block of 4 x 4
// pixels with all places of the other frame around it; two more add these up to larger blocks. A CTA has one such block, a
// thread 18 places. The block lies in shared memory, the other frame is a texture, and sums go through shared memory on their
// way out.

#define PLACES_PER_THREAD 18

template <int RANGE> struct Search {
    static const int SIDE = 2 * RANGE + 1;
    static const int PLACES = SIDE * SIDE;
    static const int PADDED = (PLACES + 7) / 8 * 8; // room in memory
};

__device__ int apart(int a, int b) { return abs(a - b); }

template <int RANGE>
__global__ void mb_sad_calc(unsigned short *sads, const unsigned short *frame, cudaTextureObject_t ref, int mb_width, int mb_height)
{
    typedef Search<RANGE> S;
    __shared__ unsigned short block[16];
    extern __shared__ int2 room[];
    unsigned short *sums = reinterpret_cast<unsigned short *>(room);

    const int t = threadIdx.x, x0 = 4 * blockIdx.x, y0 = 4 * blockIdx.y;
    if (t < 16)
        block[t] = frame[(y0 + (t >> 2)) * (16 * mb_width) + x0 + (t & 3)];
    if (t < S::PADDED - S::PLACES)
        sums[S::PLACES + t] = 0;
    __syncthreads();

    const int begin = t * PLACES_PER_THREAD, end = min(begin + PLACES_PER_THREAD, S::PLACES);
    int across = begin % S::SIDE, y = y0 - RANGE + begin / S::SIDE;
#pragma unroll 1
    for (int place = begin; place < end; place += 3) { // three places side by side share their pixels
        const int x = x0 - RANGE + across;
        int one = 0, two = 0, three = 0;
#pragma unroll
        for (int row = 0; row < 4; row++) {
#pragma unroll
            for (int column = 0; column < 6; column++) {
                const int pixel = tex2D<unsigned short>(ref, x + column, y + row);
                if (column < 4)
                    one += apart(pixel, block[4 * row + column]);
                if (column >= 1 && column < 5)
                    two += apart(pixel, block[4 * row + column - 1]);
                if (column >= 2)
                    three += apart(pixel, block[4 * row + column - 2]);
            }
        }
        sums[place] = one;
        sums[place + 1] = two;
        sums[place + 2] = three;
        across += 3;
        if (across >= S::SIDE) {
            across -= S::SIDE;
            y++;
        }
    }
    __syncthreads();

    if (t < 32) {
        const int macroblock = (blockIdx.y >> 2) * mb_width + (blockIdx.x >> 2);
        const int within = 4 * (blockIdx.y & 3) + (blockIdx.x & 3);
        int2 *out = reinterpret_cast<int2 *>(sads + (mb_width * mb_height * 25 + macroblock * 16 + within) * S::PADDED);
#pragma unroll 1
        for (int k = t; k < S::PADDED / 4; k += 32)
            out[k] = room[k];
    }
}

// Blocks of all shapes lie one shape after another, then by macroblock, then row by row within it: 16 x 16, 16 x 8, 8 x 16, 8 x 8,
// 8 x 4, 4 x 8, 4 x 4 (width x height). Two sums are added at once, as the halves of a word: none is too large for its half.

template <int RANGE>
__device__ unsigned *sums_of(unsigned short *sads, int before, int many, int macroblocks, int macroblock, int within)
{
    return reinterpret_cast<unsigned *>(sads + (macroblocks * before + macroblock * many + within) * Search<RANGE>::PADDED);
}

template <int RANGE> __global__ void larger_sad_calc_8(unsigned short *sads, int mb_width, int mb_height)
{
    const int column = threadIdx.y & 1, row = threadIdx.y >> 1, next = Search<RANGE>::PADDED / 2;
    const int all = mb_width * mb_height, own = blockIdx.y * mb_width + blockIdx.x;
    const unsigned *in = sums_of<RANGE>(sads, 25, 16, all, own, 8 * row + 2 * column);
    unsigned *tall = sums_of<RANGE>(sads, 17, 8, all, own, 4 * row + 2 * column);
    unsigned *wide = sums_of<RANGE>(sads, 9, 8, all, own, 4 * row + column);
    unsigned *square = sums_of<RANGE>(sads, 5, 4, all, own, 2 * row + column);
#pragma unroll 1
    for (int k = threadIdx.x; k < (Search<RANGE>::PLACES + 1) / 2; k += 32) {
        const unsigned a = in[k], b = in[k + next], c = in[k + 4 * next], d = in[k + 5 * next];
        tall[k] = a + c;
        tall[k + next] = b + d;
        wide[k] = a + b;
        wide[k + 2 * next] = c + d;
        square[k] = (a + b) + (c + d);
    }
}

template <int RANGE> __global__ void larger_sad_calc_16(unsigned short *sads, int mb_width, int mb_height)
{
    const int next = Search<RANGE>::PADDED / 2;
    const int all = mb_width * mb_height, own = blockIdx.y * mb_width + blockIdx.x;
    const unsigned *in = sums_of<RANGE>(sads, 5, 4, all, own, 0);
    unsigned *tall = sums_of<RANGE>(sads, 3, 2, all, own, 0);
    unsigned *wide = sums_of<RANGE>(sads, 1, 2, all, own, 0);
    unsigned *square = sums_of<RANGE>(sads, 0, 1, all, own, 0);
#pragma unroll 1
    for (int k = threadIdx.x; k < (Search<RANGE>::PLACES + 1) / 2; k += 32) {
        const unsigned a = in[k], b = in[k + next], c = in[k + 2 * next], d = in[k + 3 * next];
        tall[k] = a + c;
        tall[k + next] = b + d;
        wide[k] = a + b;
        wide[k + next] = c + d;
        square[k] = (a + b) + (c + d);
    }
}
