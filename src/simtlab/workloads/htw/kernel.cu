// Tracking the walls of a heart through an ultrasound film: a CTA has one point of a wall, and looks for the piece of image
// around it (its template) in a wider piece of the next frame. How well they match at each place is their normalised correlation
// (Lewis, Vision Interface 1995): a correlation over all places, and sums over every window from running sums.

const int THREADS = 256;
const int MOST = 256;  // columns of any array here, at most

struct Layout {
    int width, height;          // of a frame
    int half, side;             // of the template: side = 2 half + 1
    int reach, wide;            // of the piece that is searched: wide = 2 reach + 1
    int places;                 // along each axis at which the two overlap: side + wide - 1
    int padded;                 // side of the searched piece with room for running sums: wide + 2 side - 1
    int move;                   // how far a point may move from frame to frame
    int renew;                  // every so many frames a template takes in what was found
    int of_point;               // words of `memory` for each point, and where in them each array begins
    int turned, search, correlation, sums, rows, local, local_squares, peak, allowed;
};

__constant__ Layout layout;
__constant__ float keep;  // of a template when it is renewed

// The piece of the frame around the point; beyond the frame lies its edge.
__device__ void cut(const float *frame, float *piece, int row, int column, int half, int side)
{
#pragma unroll 1
    for (int e = threadIdx.x; e < side * side; e += THREADS) {
        int y = min(max(row - half + e / side, 0), layout.height - 1);
        int x = min(max(column - half + e % side, 0), layout.width - 1);
        piece[e] = frame[y * layout.width + x];
    }
}

// Turned round, the template is convolved where it should be correlated.
__device__ void turn(const float *pattern, float *turned)
{
    int elements = layout.side * layout.side;
#pragma unroll 1
    for (int e = threadIdx.x; e < elements; e += THREADS)
        turned[elements - 1 - e] = pattern[e];
}

__device__ void convolve(const float *turned, const float *search, float *correlation)
{
    int side = layout.side, wide = layout.wide, places = layout.places;
#pragma unroll 1
    for (int e = threadIdx.x; e < places * places; e += THREADS) {
        int y = e / places, x = e % places;
        int top = max(0, y - side + 1), bottom = min(y, wide - 1);
        int left = max(0, x - side + 1), right = min(x, wide - 1);
        float sum = 0;
#pragma unroll 1
        for (int j = top; j <= bottom; j++)
#pragma unroll 1
            for (int i = left; i <= right; i++)
                sum += search[j * wide + i] * turned[(y - j) * side + x - i];
        correlation[e] = sum;
    }
}

// Sums of the searched piece (or of its squares) over every window as large as the template, by running sums down, then across.
__device__ void window_sums(const float *search, float *sums, float *rows, float *local, bool squares)
{
    int side = layout.side, wide = layout.wide, places = layout.places, padded = layout.padded;
#pragma unroll 1
    for (int e = threadIdx.x; e < padded * padded; e += THREADS) {
        int y = e / padded - side, x = e % padded - side;
        float value = y >= 0 && y < wide && x >= 0 && x < wide ? search[y * wide + x] : 0.0f;
        sums[e] = squares ? value * value : value;
    }
    __syncthreads();
    if (threadIdx.x < padded) {
        float running = 0;
#pragma unroll 1
        for (int y = 0; y < padded; y++) {
            running += sums[y * padded + threadIdx.x];
            sums[y * padded + threadIdx.x] = running;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < places * padded; e += THREADS)
        rows[e] = sums[e + side * padded] - sums[e];
    __syncthreads();
    if (threadIdx.x < places) {
        float running = 0;
#pragma unroll 1
        for (int x = 0; x < padded; x++) {
            running += rows[threadIdx.x * padded + x];
            rows[threadIdx.x * padded + x] = running;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < places * places; e += THREADS) {
        int y = e / places, x = e % places;
        local[e] = rows[y * padded + x + side] - rows[y * padded + x];
    }
    __syncthreads();
}

// The template's sum, and the root of its squared deviations: columns first, then one thread adds these up.
__device__ void statistics(const float *pattern, float *column_sums, float *column_squares, float *total, float *spread)
{
    int side = layout.side;
    if (threadIdx.x < side) {
        float sum = 0, squares = 0;
#pragma unroll 1
        for (int y = 0; y < side; y++) {
            float value = pattern[y * side + threadIdx.x];
            sum += value;
            squares += value * value;
        }
        column_sums[threadIdx.x] = sum;
        column_squares[threadIdx.x] = squares;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0, squares = 0;
#pragma unroll 1
        for (int x = 0; x < side; x++) {
            sum += column_sums[x];
            squares += column_squares[x];
        }
        *total = sum;
        *spread = sqrtf(fmaxf(squares - sum * sum / (side * side), 0.0f));
    }
    __syncthreads();
}

// Places that the point can have moved to: a single mark where it was, spread by convolution.
__device__ void spread_mark(float *peak, float *allowed)
{
    int places = layout.places, move = layout.move, middle = layout.reach + layout.half;
#pragma unroll 1
    for (int e = threadIdx.x; e < places * places; e += THREADS)
        peak[e] = e == middle * places + middle ? 1.0f : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < places * places; e += THREADS) {
        int y = e / places, x = e % places;
        float sum = 0;
#pragma unroll 1
        for (int j = max(0, y - move); j <= min(places - 1, y + move); j++)
#pragma unroll 1
            for (int i = max(0, x - move); i <= min(places - 1, x + move); i++)
                sum += peak[j * places + i];
        allowed[e] = sum;
    }
    __syncthreads();
}

__device__ void normalise(float *correlation, const float *local, const float *local_squares, float total, float spread)
{
    int places = layout.places;
    float elements = layout.side * layout.side;
#pragma unroll 1
    for (int e = threadIdx.x; e < places * places; e += THREADS) {
        float deviation = sqrtf(fmaxf(local_squares[e] - local[e] * local[e] / elements, 0.0f)) * spread;
        float matching = correlation[e] - local[e] * total / elements;
        correlation[e] = deviation > 1e-6f ? matching / deviation : 0.0f;
    }
    __syncthreads();
}

// The best allowed place: in every row by a thread, then among the rows.
__device__ void best_place(const float *correlation, const float *allowed, float *row_best, int *row_place)
{
    int places = layout.places;
    if (threadIdx.x < places) {
        float best = -2;
        int place = 0;
#pragma unroll 1
        for (int x = 0; x < places; x++) {
            int e = threadIdx.x * places + x;
            if (allowed[e] > 0 && correlation[e] > best) {
                best = correlation[e];
                place = e;
            }
        }
        row_best[threadIdx.x] = best;
        row_place[threadIdx.x] = place;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int y = 1; y < places; y++)
            if (row_best[y] > row_best[0]) {
                row_best[0] = row_best[y];
                row_place[0] = row_place[y];
            }
    }
    __syncthreads();
}

extern "C" __global__ void kernel(const float *frame, float *memory, int *point_rows, int *point_columns, float *scores, int frame_no)
{
    __shared__ float one[MOST], other[MOST];
    __shared__ int places_of[MOST];
    __shared__ float total, spread;
    int point = blockIdx.x, half = layout.half;
    float *own = memory + point * layout.of_point;
    float *pattern = own, *search = own + layout.search, *correlation = own + layout.correlation;
    int row = point_rows[point], column = point_columns[point];
    if (frame_no == 0) {
        cut(frame, pattern, row, column, half, layout.side);
        return;
    }
    cut(frame, search, row, column, layout.reach, layout.wide);
    turn(pattern, own + layout.turned);
    __syncthreads();
    convolve(own + layout.turned, search, correlation);
    window_sums(search, own + layout.sums, own + layout.rows, own + layout.local, false);
    window_sums(search, own + layout.sums, own + layout.rows, own + layout.local_squares, true);
    statistics(pattern, one, other, &total, &spread);
    normalise(correlation, own + layout.local, own + layout.local_squares, total, spread);
    spread_mark(own + layout.peak, own + layout.allowed);
    best_place(correlation, own + layout.allowed, one, places_of);

    int middle = layout.reach + half;
    row += places_of[0] / layout.places - middle;
    column += places_of[0] % layout.places - middle;
    if (threadIdx.x == 0) {
        point_rows[point] = row;
        point_columns[point] = column;
        scores[point] = one[0];
    }
    if (frame_no % layout.renew == 0) {
        int elements = layout.side * layout.side;
        cut(frame, own + layout.turned, row, column, half, layout.side);
        __syncthreads();
#pragma unroll 1
        for (int e = threadIdx.x; e < elements; e += THREADS)
            pattern[e] = keep * pattern[e] + (1.0f - keep) * own[layout.turned + e];
    }
}
