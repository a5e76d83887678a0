// A sparse matrix times a vector. Rows are sorted by length and stored by jagged diagonals: the first entries of all rows, then
// the second ones, and so on, filled up so that the rows of a warp are equally long. A thread has a row; where the diagonals
// begin and how long each warp's rows are lies in constant memory.

#define WARP_BITS 5

__constant__ int jds_ptr_int[5000];
__constant__ int sh_zcnt_int[5000];

extern "C" __global__ void spmv_jds(float *result, const float *data, const int *index, const int *permutation,
                                    const float *vector, int rows, int diagonals)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int length = sh_zcnt_int[row >> WARP_BITS];
#pragma unroll 1
        for (int k = 0; k < length; k++) {
            int entry = jds_ptr_int[k] + row;
            sum += data[entry] * vector[index[entry]];
        }
        result[permutation[row]] = sum;
    }
}
