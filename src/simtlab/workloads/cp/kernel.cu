// The electrostatic potential of point charges on one plane of a grid. Every thread computes two points of a row, half
// a warp apart, so that what it reads of an atom serves twice and its stores are coalesced.

#define BLOCK_X 16
#define MAX_ATOMS 4000  // 64000 bytes: what constant memory holds

// x, y, squared distance from the plane, charge
__constant__ float4 atoms[MAX_ATOMS];

extern "C" __global__ void cenergy(int n_atoms, float spacing, float *potential)
{
    int column = blockIdx.x * (2 * BLOCK_X) + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int place = row * gridDim.x * (2 * BLOCK_X) + column;

    float x = spacing * column;
    float y = spacing * row;
    float to_second = spacing * BLOCK_X;
    float first = 0.0f, second = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n_atoms; k++) {
        float4 atom = atoms[k];
        float dy = y - atom.y;
        float away = dy * dy + atom.z;
        float dx = x - atom.x;
        float dx2 = dx + to_second;
        first += atom.w * (1.0f / sqrtf(dx * dx + away));
        second += atom.w * (1.0f / sqrtf(dx2 * dx2 + away));
    }
    potential[place] += first;
    potential[place + BLOCK_X] += second;
}
