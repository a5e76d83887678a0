// The reversible 5/3 wavelet of JPEG 2000, forwards, a level a launch. A CTA has a strip of the image WIN_X columns wide and
// slides down it, WIN_Y rows at a time: it loads new rows, transforms them along x in shared memory, then every thread transforms
// its column along y and stores it. Even and odd columns lie apart in shared memory, so that both directions are free of conflicts.

const int LEFT = 2, ABOVE = 2;  // columns and rows before a window that it needs, each the mirror image beyond the edge
const int THREADS = 256;

__device__ __forceinline__ int mirrored(int place, int size)
{
    if (place < 0)
        place = -place;
    return place < size ? place : max(0, 2 * (size - 1) - place);
}

template <int WIN_X, int WIN_Y>
__device__ void horizontal(int (*even)[WIN_X / 2 + 2], int (*odd)[WIN_X / 2 + 2], int first, int count)
{
    const int half = WIN_X / 2;
    const int column = threadIdx.x % half, from = threadIdx.x / half;
    // Odd columns first, the one before the window included: its neighbour needs it.
#pragma unroll 1
    for (int row = first + from; row < first + count; row += 2) {
        odd[row][column + 1] -= (even[row][column + 1] + even[row][column + 2]) >> 1;
        if (column == 0)
            odd[row][0] -= (even[row][0] + even[row][1]) >> 1;
    }
    __syncthreads();
#pragma unroll 1
    for (int row = first + from; row < first + count; row += 2)
        even[row][column + 1] += (odd[row][column] + odd[row][column + 1] + 2) >> 2;
}

template <int WIN_X, int WIN_Y>
__global__ void fdwt53Kernel(const int *in, int *out, int sizeX, int sizeY, int winSteps)
{
    const int ROWS = WIN_Y + ABOVE + 1, half = WIN_X / 2;
    __shared__ int even[ROWS][half + 2], odd[ROWS][half + 2];
    const int x0 = blockIdx.x * WIN_X, thread = threadIdx.x;
    int y0 = blockIdx.y * WIN_Y * winSteps;

    const int column = x0 + thread, beside = thread < LEFT ? x0 - LEFT + thread : x0 + WIN_X + thread - LEFT;
    const int from = mirrored(column, sizeX), from_beside = mirrored(beside, sizeX);
    const int at = thread / 2 + 1, at_beside = thread < LEFT ? 0 : half + 1;

    // Which band and column this thread stores: even columns are the low band of x, odd ones the high band.
    const bool high_x = thread >= half;
    const int stored = high_x ? thread - half : thread;
    const int to = x0 / 2 + stored, width = high_x ? sizeX / 2 : sizeX - sizeX / 2;
    const int low_x = sizeX - sizeX / 2, low_y = sizeY - sizeY / 2;
    int *low = out + (high_x ? low_x * low_y : 0);
    int *high = out + sizeX * low_y + (high_x ? low_x * (sizeY - low_y) : 0);

    int first = 0;  // of the rows to be loaded: all at the start, those below the window's overlap later
#pragma unroll 1
    for (int step = 0; step < winSteps && y0 < sizeY; step++, y0 += WIN_Y) {
#pragma unroll 1
        for (int row = first; row < ROWS; row++) {
            const int line = mirrored(y0 - ABOVE + row, sizeY) * sizeX;
            (thread % 2 ? odd : even)[row][at] = in[line + from];
            if (thread < 2 * LEFT)
                (thread % 2 ? odd : even)[row][at_beside] = in[line + from_beside];
        }
        __syncthreads();
        horizontal<WIN_X, WIN_Y>(even, odd, first, ROWS - first);
        __syncthreads();

        int value[ROWS];
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            value[row] = (high_x ? odd : even)[row][stored + 1];
        __syncthreads();
        if (step + 1 < winSteps)
#pragma unroll
            for (int row = 0; row <= ABOVE; row++)
                (high_x ? odd : even)[row][stored + 1] = value[WIN_Y + row];
        first = ABOVE + 1;

        int before = value[1] - ((value[0] + value[2]) >> 1);
#pragma unroll
        for (int row = ABOVE; row < ROWS - 1; row += 2) {
            const int after = value[row + 1] - ((value[row] + value[row + 2]) >> 1);
            const int line = (y0 + row - ABOVE) / 2;
            if (to < width && line < low_y)
                low[line * width + to] = value[row] + ((before + after + 2) >> 2);
            if (to < width && line < sizeY - low_y)
                high[line * width + to] = after;
            before = after;
        }
    }
}

// Bytes red, green, blue, red, ... become three arrays around zero; a CTA's bytes go through shared memory.
extern "C" __global__ void c_CopySrcToComponents(int *red, int *green, int *blue, const unsigned char *pixels, int n)
{
    __shared__ unsigned char bytes[3 * THREADS];
    const int first = 3 * THREADS * blockIdx.x, thread = threadIdx.x;
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (first + k * THREADS + thread < 3 * n)
            bytes[k * THREADS + thread] = pixels[first + k * THREADS + thread];
    __syncthreads();
    const int pixel = THREADS * blockIdx.x + thread;
    if (pixel < n) {
        red[pixel] = bytes[3 * thread] - 128;
        green[pixel] = bytes[3 * thread + 1] - 128;
        blue[pixel] = bytes[3 * thread + 2] - 128;
    }
}
