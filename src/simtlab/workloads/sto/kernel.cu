// MD5 of windows that slide over a buffer, one window a thread. A warp has 512 words of shared memory, of which each lane uses 16
// in a bank of its own: the 64 bytes that it hashes next.

#define WORDS (4 * 1024 - 32)  // of shared memory; 192 threads would need more than half of them
#define WORDS_OF_WARP 512

constexpr unsigned SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee,
    0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa,
    0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
    0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05,
    0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039,
    0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
constexpr int ROTATIONS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
constexpr int FACTOR[4] = {1, 5, 3, 7}, FIRST[4] = {0, 1, 5, 0};  // which word a step takes

__device__ int word(int index) { return 32 * index + (threadIdx.x & 31); }

template <int round>
__device__ unsigned mixed(unsigned x, unsigned y, unsigned z)
{
    if constexpr (round == 0)
        return z ^ (x & (y ^ z));
    else if constexpr (round == 1)
        return y ^ (z & (x ^ y));
    else if constexpr (round == 2)
        return x ^ y ^ z;
    else
        return y ^ (x | ~z);
}

// The 64 steps from one on (RFC 1321); the registers change their roles in turn.
template <int step>
__device__ void steps(unsigned &a, unsigned &b, unsigned &c, unsigned &d, const unsigned *words)
{
    constexpr int round = step / 16, left = ROTATIONS[round][step % 4], index = (FACTOR[round] * step + FIRST[round]) % 16;
    constexpr unsigned sine = SINES[step];
    const unsigned sum = a + mixed<round>(b, c, d) + words[word(index)] + sine;
    a = b + (sum << left | sum >> (32 - left));
    if constexpr (step < 63)
        steps<step + 1>(d, a, b, c, words);
}

// The machine's order of bytes need not be MD5's: words are put together from their bytes.
__device__ unsigned littleEndian(const unsigned char *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
}

__device__ void putLittleEndian(unsigned value, unsigned char *bytes)
{
    bytes[0] = value;
    bytes[1] = value >> 8;
    bytes[2] = value >> 16;
    bytes[3] = value >> 24;
}

__device__ unsigned md5Start(const unsigned *input, unsigned *words, int bytes)
{
    unsigned state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const int passes = bytes / 64 + 1;
#pragma unroll 1
    for (int pass = 0; pass < passes; pass++) {
        if (pass == passes - 1) {
            const int rest = (bytes - 64 * pass) / 4;
#pragma unroll 1
            for (int i = rest + 1; i < 14; i++)
                words[word(i)] = 0;
#pragma unroll 1
            for (int i = 0; i < rest; i++)
                words[word(i)] = input[16 * pass + i];
            words[word(rest)] = 0x80;
            words[word(14)] = bytes << 3;
            words[word(15)] = bytes >> 29;
        } else {
            for (int i = 0; i < 16; i++)
                words[word(i)] = input[16 * pass + i];
        }
        for (int i = 0; i < 16; i++)
            words[word(i)] = littleEndian((const unsigned char *)(words + word(i)));
        unsigned a = state[0], b = state[1], c = state[2], d = state[3];
        steps<0>(a, b, c, d, words);
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
    }
    return state[0];
}

// The first four bytes of each window's hash. The last window is shorter by `missing` bytes.
extern "C" __global__ void md5_overlap(const unsigned char *input, int chunk, int offset, int windows, int missing,
                                       unsigned char *hashes)
{
    __shared__ unsigned words[WORDS];
    const int window = threadIdx.x + blockDim.x * blockIdx.x;
    if (window >= windows)
        return;
    if (window == windows - 1)
        chunk -= missing;
    unsigned *own = words + (threadIdx.x / 32) * WORDS_OF_WARP;
    putLittleEndian(md5Start((const unsigned *)(input + window * offset), own, chunk), hashes + 4 * window);
}
