// The resampling step of a particle filter: each thread looks, from the first on, for the particle whose cumulative weight
// reaches the thread's step of the ladder, and takes that particle's place.

extern "C" __global__ void kernel(double *arrayX, double *arrayY, double *CDF, double *u, double *xj, double *yj, int particles)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < particles) {
        int index = -1;
#pragma unroll 1
        for (int x = 0; x < particles; x++) {
            if (CDF[x] >= u[i]) {
                index = x;
                break;
            }
        }
        if (index == -1)
            index = particles - 1;
        xj[i] = arrayX[index];
        yj[i] = arrayY[index];
    }
}
