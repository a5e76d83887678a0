// Put before every program that `simtlab nvcc` compiles: what programs of older CUDA use and CUDA 12 and 13 have dropped.
#pragma once
#if defined(__cplusplus) && defined(__CUDACC__)
#include <cuda_runtime.h>

static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
static inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
static inline cudaError_t cudaThreadGetLimit(size_t *value, cudaLimit limit) { return cudaDeviceGetLimit(value, limit); }
static inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }

#if CUDART_VERSION >= 13000
// The device's properties with the fields that were left out.
struct simtlab_device_properties : cudaDeviceProp {
    int clockRate, memoryClockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear;
    int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};

static inline cudaError_t cudaGetDeviceProperties(simtlab_device_properties *properties, int device)
{
    cudaError_t error = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(properties), device);
    cudaDeviceGetAttribute(&properties->clockRate, cudaDevAttrClockRate, device);
    cudaDeviceGetAttribute(&properties->memoryClockRate, cudaDevAttrMemoryClockRate, device);
    properties->deviceOverlap = 1;
    properties->kernelExecTimeoutEnabled = properties->computeMode = properties->cooperativeMultiDeviceLaunch = 0;
    properties->maxTexture1DLinear = 1 << 27;
    properties->singleToDoublePrecisionPerfRatio = 32;
    return error;
}
#define cudaDeviceProp simtlab_device_properties
#endif
#endif
