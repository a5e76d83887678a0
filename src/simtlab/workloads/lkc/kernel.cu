// White blood cells in a film: found in the first frame by how evenly the gradient points away along circles around each point,
// then followed by a field of motion in a box around each. Frames lie column by column and are read through textures.

#define MOST_POINTS 150
#define MOST_CIRCLES 7
#define MOST_ELEMENT 25

__constant__ float c_sin_angle[MOST_POINTS];
__constant__ float c_cos_angle[MOST_POINTS];
__constant__ int c_tX[MOST_CIRCLES * MOST_POINTS];
__constant__ int c_tY[MOST_CIRCLES * MOST_POINTS];
__constant__ float c_strel[MOST_ELEMENT * MOST_ELEMENT];

// The gradient inverse coefficient of variation: of the circles around a point, the largest square of the mean outward gradient
// over its variance. A CTA has a column of the frame and a thread a point, `margin` away from the frame's edges.
extern "C" __global__ void GICOV_kernel(int rows, float *gicov, cudaTextureObject_t gradientX, cudaTextureObject_t gradientY,
                                        int margin, int circles, int points)
{
    int column = blockIdx.x + margin, row = threadIdx.x + margin;
    float best = 0.0f;
#pragma unroll 1
    for (int circle = 0; circle < circles; circle++) {
        float sum = 0.0f, squares = 0.0f, mean = 0.0f;
#pragma unroll 1
        for (int point = 0; point < points; point++) {
            int x = column + c_tX[circle * points + point];
            int y = row + c_tY[circle * points + point];
            int place = x * rows + y;
            float outward = tex1Dfetch<float>(gradientX, place) * c_cos_angle[point] +
                            tex1Dfetch<float>(gradientY, place) * c_sin_angle[point];
            sum += outward;
            float difference = outward - mean;
            mean = mean + difference / (float)(point + 1);
            squares = squares + difference * (outward - mean);
        }
        mean = sum / (float)points;
        float variance = squares / (float)(points - 1);
        float score = mean * mean / variance;
        if (score > best)
            best = score;
    }
    gicov[column * rows + row] = best;
}

// The largest score in the neighbourhood that the structuring element cuts out; the result lies row by row.
extern "C" __global__ void dilate_kernel(int rows, int columns, int height, int width, float *dilated, cudaTextureObject_t image)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= rows * columns)
        return;
    int row = thread % rows, column = thread / rows;
    float largest = 0.0f;
#pragma unroll 1
    for (int i = 0; i < height; i++) {
        int y = row - height / 2 + i;
        if (y >= 0 && y < rows) {
#pragma unroll 1
            for (int j = 0; j < width; j++) {
                int x = column - width / 2 + j;
                if (x >= 0 && x < columns && c_strel[i * width + j] != 0) {
                    float there = tex1Dfetch<float>(image, x * rows + y);
                    if (there > largest)
                        largest = there;
                }
            }
        }
    }
    dilated[row * columns + column] = largest;
}

#define CTA 320
#define POWER 256  // the largest power of two below
#define MOST_ELEMENTS (41 * 81)
#define MU 0.5
#define LAMBDA (8.0 * MU + 1.0)

// A step from 0 to 1, smooth within the order of 1.
__device__ float heaviside(float x)
{
    return atanf(x) * (1.0 / 3.14159265358979323846) + 0.5;
}

// The motion gradient vector field of each cell: a CTA has a cell's box in shared memory and renews it until it hardly changes,
// 320 elements at a time. New elements wait in a buffer until the next 320, which neighbour on them, have been computed.
extern "C" __global__ void IMGVF_kernel(float *fields, const float *images, const long long *offsets, const int *heights,
                                        const int *widths, float vx, float vy, float e, int max_iterations, float cutoff)
{
    __shared__ float field[MOST_ELEMENTS];
    __shared__ float buffer[CTA];
    __shared__ int converged;

    int t = threadIdx.x;
    float *global = fields + offsets[blockIdx.x];
    const float *image = images + offsets[blockIdx.x];
    int m = heights[blockIdx.x], n = widths[blockIdx.x];
    int parts = (m * n + CTA - 1) / CTA;

#pragma unroll 1
    for (int part = 0; part < parts; part++)
        if (part * CTA + t < m * n)
            field[part * CTA + t] = global[part * CTA + t];
    if (t == 0)
        converged = 0;
    __syncthreads();

    const float one_nth = 1.0f / n, one_over_e = 1.0 / e;
    const int first_column = t % n, next_column = CTA % n;
    int iterations = 0;
#pragma unroll 1
    while (!converged && iterations < max_iterations) {
        float change = 0.0f;
        int j = first_column - next_column;
#pragma unroll 1
        for (int part = 0; part < parts; part++) {
            int place = part * CTA + t;
            int i = (place + 0.5f) * one_nth;
            j += next_column;
            if (j >= n)
                j -= n;
            float before = 0.0f, after = 0.0f;
            if (i < m) {
                int up = i == 0 ? 0 : i - 1, down = i == m - 1 ? m - 1 : i + 1;
                int left = j == 0 ? 0 : j - 1, right = j == n - 1 ? n - 1 : j + 1;
                before = field[i * n + j];
                float U = field[up * n + j] - before, D = field[down * n + j] - before;
                float L = field[i * n + left] - before, R = field[i * n + right] - before;
                float UR = field[up * n + right] - before, DR = field[down * n + right] - before;
                float UL = field[up * n + left] - before, DL = field[down * n + left] - before;

                float flow = heaviside(U * -vy * one_over_e) * U + heaviside(D * vy * one_over_e) * D +
                             heaviside(L * -vx * one_over_e) * L + heaviside(R * vx * one_over_e) * R +
                             heaviside(UR * (vx - vy) * one_over_e) * UR + heaviside(DR * (vx + vy) * one_over_e) * DR +
                             heaviside(UL * (-vx - vy) * one_over_e) * UL + heaviside(DL * (-vx + vy) * one_over_e) * DL;
                after = before + (MU / LAMBDA) * flow;
                float edge = image[i * n + j];
                after -= (1.0 / LAMBDA) * edge * (after - edge);
            }
            change += fabsf(after - before);
            __syncthreads();
            if (part > 0)
                field[place - CTA] = buffer[t];
            if (part < parts - 1)
                buffer[t] = after;
            else if (i < m)
                field[place] = after;
            __syncthreads();
        }

        buffer[t] = change;
        __syncthreads();
        if (t >= POWER)
            buffer[t - POWER] += buffer[t];
        __syncthreads();
        for (int half = POWER / 2; half > 0; half /= 2) {
            if (t < half)
                buffer[t] += buffer[t + half];
            __syncthreads();
        }
        if (t == 0 && buffer[0] / (float)(m * n) < cutoff)
            converged = 1;
        __syncthreads();
        iterations++;
    }

#pragma unroll 1
    for (int part = 0; part < parts; part++)
        if (part * CTA + t < m * n)
            global[part * CTA + t] = field[part * CTA + t];
}
