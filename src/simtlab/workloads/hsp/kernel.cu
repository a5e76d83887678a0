// Temperatures on a chip, from the power its parts draw: an explicit step of the heat equation. A CTA holds 16 x 16
// points in shared memory and makes several steps on them, each valid one point further inside, before it writes back
// the inner part that is right (the "pyramid").

#define BLOCK 16
#define AMBIENT 80.0  // of the air around the chip

extern "C" __global__ void calculate_temp(
    int steps, float *power, float *from, float *to, int columns, int rows, int border_columns, int border_rows,
    float capacity, float rx, float ry, float rz, float step, float time_elapsed)
{
    __shared__ float temperature[BLOCK][BLOCK];
    __shared__ float drawn[BLOCK][BLOCK];
    __shared__ float next[BLOCK][BLOCK];

    float rate = step / capacity;
    float per_rx = 1 / rx, per_ry = 1 / ry, per_rz = 1 / rz;
    int tx = threadIdx.x, ty = threadIdx.y;

    int inner = BLOCK - 2 * steps;
    int top = inner * blockIdx.y - border_rows;
    int left = inner * blockIdx.x - border_columns;
    int row = top + ty, column = left + tx;
    int place = columns * row + column;
    if (row >= 0 && row < rows && column >= 0 && column < columns) {
        temperature[ty][tx] = from[place];
        drawn[ty][tx] = power[place];
    }
    __syncthreads();

    // Where the block reaches over the chip's edge, a point at the edge is its own neighbour.
    int first_y = top < 0 ? -top : 0, last_y = min(BLOCK - 1, rows - 1 - top);
    int first_x = left < 0 ? -left : 0, last_x = min(BLOCK - 1, columns - 1 - left);
    int north = max(ty - 1, first_y), south = min(ty + 1, last_y);
    int west = max(tx - 1, first_x), east = min(tx + 1, last_x);

    bool computed = false;
#pragma unroll 1
    for (int i = 0; i < steps; i++) {
        computed = tx >= i + 1 && tx <= BLOCK - i - 2 && ty >= i + 1 && ty <= BLOCK - i - 2
                   && tx >= first_x && tx <= last_x && ty >= first_y && ty <= last_y;
        if (computed)
            next[ty][tx] = temperature[ty][tx] + rate * (drawn[ty][tx]
                + (temperature[south][tx] + temperature[north][tx] - 2.0 * temperature[ty][tx]) * per_ry
                + (temperature[ty][east] + temperature[ty][west] - 2.0 * temperature[ty][tx]) * per_rx
                + (AMBIENT - temperature[ty][tx]) * per_rz);
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            temperature[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed)
        to[place] = next[ty][tx];
}
