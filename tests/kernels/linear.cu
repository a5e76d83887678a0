// Dense and sparse linear algebra, as the public suites structure it: 16-thread and 16 x 16 blocks, tiles in shared memory.
#define TILE 16

// One product of a chain of two: d = alpha * a * b + beta * d.
extern "C" __global__ void matrix_product(int n, float alpha, float beta, const float *a, const float *b, float *d)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    float sum = beta * d[row * n + column];
    for (int k = 0; k < n; k++) sum += alpha * a[row * n + k] * b[k * n + column];
    d[row * n + column] = sum;
}

extern "C" __global__ void tiled_product(int n, const float *a, const float *b, float *c)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        left[y][x] = row < n && tile + x < n ? a[row * n + tile + x] : 0.0f;
        right[y][x] = column < n && tile + y < n ? b[(tile + y) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// LU decomposition in place, in blocks of 16: the diagonal block, then its row and column of blocks, then the rest.
extern "C" __global__ void lud_diagonal(float *m, int n, int first)
{
    __shared__ float tile[TILE][TILE];
    int x = threadIdx.x;
    for (int i = 0; i < TILE; i++) tile[i][x] = m[(first + i) * n + first + x];
    __syncthreads();
    for (int i = 0; i < TILE - 1; i++) {
        if (x > i) {
            for (int j = 0; j < i; j++) tile[x][i] -= tile[x][j] * tile[j][i];
            tile[x][i] /= tile[i][i];
        }
        __syncthreads();
        if (x > i)
            for (int j = 0; j < i + 1; j++) tile[i + 1][x] -= tile[i + 1][j] * tile[j][x];
        __syncthreads();
    }
    for (int i = 1; i < TILE; i++) m[(first + i) * n + first + x] = tile[i][x];
}

extern "C" __global__ void lud_perimeter(float *m, int n, int first)
{
    __shared__ float diagonal[TILE][TILE], row[TILE][TILE], column[TILE][TILE];
    int x = threadIdx.x % TILE;
    bool works_on_row = threadIdx.x < TILE;
    int away = first + (blockIdx.x + 1) * TILE;
    if (works_on_row) {
        for (int i = 0; i < TILE / 2; i++) diagonal[i][x] = m[(first + i) * n + first + x];
        for (int i = 0; i < TILE; i++) row[i][x] = m[(first + i) * n + away + x];
    } else {
        for (int i = TILE / 2; i < TILE; i++) diagonal[i][x] = m[(first + i) * n + first + x];
        for (int i = 0; i < TILE; i++) column[i][x] = m[(away + i) * n + first + x];
    }
    __syncthreads();
    if (works_on_row) {
        for (int i = 1; i < TILE; i++)
            for (int j = 0; j < i; j++) row[i][x] -= diagonal[i][j] * row[j][x];
    } else {
        for (int i = 0; i < TILE; i++) {
            for (int j = 0; j < i; j++) column[x][i] -= column[x][j] * diagonal[j][i];
            column[x][i] /= diagonal[i][i];
        }
    }
    __syncthreads();
    if (works_on_row)
        for (int i = 1; i < TILE; i++) m[(first + i) * n + away + x] = row[i][x];
    else
        for (int i = 0; i < TILE; i++) m[(away + i) * n + first + x] = column[i][x];
}

extern "C" __global__ void lud_internal(float *m, int n, int first)
{
    __shared__ float row[TILE][TILE], column[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int down = first + (blockIdx.y + 1) * TILE, right = first + (blockIdx.x + 1) * TILE;
    row[y][x] = m[(first + y) * n + right + x];
    column[y][x] = m[(down + y) * n + first + x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < TILE; k++) sum += column[y][k] * row[k][x];
    m[(down + y) * n + right + x] -= sum;
}

extern "C" __global__ void csr_by_thread(int rows, const int *start, const int *column, const double *value,
                                         const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
}

extern "C" __global__ void csr_by_warp(int rows, const int *start, const int *column, const double *value,
                                       const double *x, double *y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    double sum = 0;
    for (int k = start[row] + lane; k < start[row + 1]; k += 32) sum += value[k] * x[column[k]];
    for (int away = 16; away > 0; away /= 2) sum += __shfl_down_sync(~0u, sum, away);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void transpose(int width, int height, const float *in, float *out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
