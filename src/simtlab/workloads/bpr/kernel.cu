// Two steps of training a neural network with one hidden layer of 16 nodes: the weighted sums of 16 inputs a CTA for
// each hidden node, and the correction of the weights between inputs and hidden nodes.

#define WIDTH 16   // hidden nodes
#define HEIGHT 16  // inputs a CTA takes
#define ETA 0.3       // learning rate
#define MOMENTUM 0.3  // of the last correction

// Row 0 of the weights and input 0 are the bias, which the host adds. Rows have a column 0 that nothing uses.
extern "C" __global__ void bpnn_layerforward_CUDA(
    float *input, float *output, float *weights, float *partial_sums, int n_inputs, int n_hidden)
{
    __shared__ float node[HEIGHT];
    __shared__ float product[HEIGHT][WIDTH];

    int part = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int place = (n_hidden + 1) * (HEIGHT * part + ty + 1) + tx + 1;

    if (tx == 0)
        node[ty] = input[HEIGHT * part + ty + 1];
    __syncthreads();
    product[ty][tx] = weights[place];
    __syncthreads();
    product[ty][tx] *= node[ty];
    __syncthreads();

    for (int span = 2; span <= HEIGHT; span *= 2) {
        if (ty % span == 0)
            product[ty][tx] += product[ty + span / 2][tx];
        __syncthreads();
    }

    // The suite's program leaves its products in the place of the weights, which the host copies once more.
    weights[place] = product[ty][tx];
    __syncthreads();
    if (tx == 0)
        partial_sums[part * n_hidden + ty] = product[tx][ty];
}

extern "C" __global__ void bpnn_adjust_weights_cuda(
    float *delta, int n_hidden, float *input, int n_inputs, float *weights, float *last)
{
    int part = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int place = (n_hidden + 1) * (HEIGHT * part + ty + 1) + tx + 1;
    int y = HEIGHT * part + ty + 1;
    int x = tx + 1;

    weights[place] += ETA * delta[x] * input[y] + MOMENTUM * last[place];
    last[place] = ETA * delta[x] * input[y] + MOMENTUM * last[place];
    __syncthreads();

    if (ty == 0 && part == 0) {
        weights[x] += ETA * delta[x] + MOMENTUM * last[x];
        last[x] = ETA * delta[x] + MOMENTUM * last[x];
    }
}
