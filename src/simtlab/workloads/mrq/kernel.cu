// The Q matrix of a non-Cartesian MRI reconstruction: every voxel sums a phase over every sample of k-space.

struct Sample {
    float kx, ky, kz, phiMag;
};

const int SAMPLES_PER_LAUNCH = 1024;  // 16 KB of constant memory
const float TWO_PI = 6.2831853071795864769f;

__constant__ Sample samples[SAMPLES_PER_LAUNCH];

extern "C" __global__ void ComputePhiMag_GPU(const float *phiR, const float *phiI, float *phiMag, int numK)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < numK) {
        const float real = phiR[k];
        const float imaginary = phiI[k];
        phiMag[k] = real * real + imaginary * imaginary;
    }
}

// One voxel a thread; the samples `first` to `numK` lie in constant memory, which all threads read in step.
extern "C" __global__ void ComputeQ_GPU(int numK, int first, const float *x, const float *y, const float *z, float *Qr,
                                        float *Qi)
{
    const int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    const float px = x[voxel];
    const float py = y[voxel];
    const float pz = z[voxel];
    float sumR = Qr[voxel];
    float sumI = Qi[voxel];

    // Two samples a trip; an odd one out comes first.
    int k = 0;
    if ((numK - first) % 2) {
        const float angle = TWO_PI * (samples[0].kx * px + samples[0].ky * py + samples[0].kz * pz);
        sumR += samples[0].phiMag * cosf(angle);
        sumI += samples[0].phiMag * sinf(angle);
        k = 1;
        first++;
    }
#pragma unroll 1
    for (; k < SAMPLES_PER_LAUNCH && first < numK; k += 2, first += 2) {
        const float angle = TWO_PI * (samples[k].kx * px + samples[k].ky * py + samples[k].kz * pz);
        sumR += samples[k].phiMag * cosf(angle);
        sumI += samples[k].phiMag * sinf(angle);

        const float next = TWO_PI * (samples[k + 1].kx * px + samples[k + 1].ky * py + samples[k + 1].kz * pz);
        sumR += samples[k + 1].phiMag * cosf(next);
        sumI += samples[k + 1].phiMag * sinf(next);
    }
    Qr[voxel] = sumR;
    Qi[voxel] = sumI;
}
