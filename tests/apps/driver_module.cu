// flags: -lcuda
// Runs kernels that are PTX in a string, through the driver API, on memory it shares with a kernel of the runtime's.
// There for: cuInit, cuModuleLoadData, cuModuleGetFunction, cuModuleGetGlobal, cuLaunchKernel, cuMemAlloc, cuMemcpy*.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK(call) { cudaError_t e = (call); if (e != cudaSuccess) {                                            \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); }}
#define DRIVER(call) { CUresult r = (call); if (r != CUDA_SUCCESS) { const char *text = "?";                     \
    cuGetErrorString(r, &text); fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text); exit(1); }}

// combine: y[i] = gain * x[i] + bias[i % 4] + y[i]. reverse: each block turns its part of data round.
static const char *ptx = R"(
.version 6.4
.target sm_75
.address_size 64

.visible .global .align 4 .u32 gain = 3;
.visible .const .align 4 .u32 bias[4] = {10, 20, 30, 40};
.extern .shared .align 4 .b8 room[];
.visible .entry combine(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %i, %n, %x, %y, %g, %b, %r<4>;
    .reg .b64 %px, %py, %pb;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %i, %r1, %r2, %r3;
    ld.param.u32 %n, [n]; setp.ge.s32 %p, %i, %n; @%p exit;
    ld.param.u64 %px, [x]; mad.wide.s32 %px, %i, 4, %px; ld.global.u32 %x, [%px];
    ld.param.u64 %py, [y]; mad.wide.s32 %py, %i, 4, %py; ld.global.u32 %y, [%py];
    ld.global.u32 %g, [gain];
    and.b32 %r1, %i, 3;
    mov.u64 %pb, bias;
    mad.wide.u32 %pb, %r1, 4, %pb;
    ld.const.u32 %b, [%pb];
    mad.lo.s32 %b, %g, %x, %b;
    add.s32 %y, %y, %b;
    st.global.u32 [%py], %y;
    ret;
}
.visible .entry reverse(.param .u64 data)
{
    .reg .b32 %x, %at, %r<4>;
    .reg .b64 %p;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %x, %r1, %r2, %r3;
    ld.param.u64 %p, [data];
    mad.wide.s32 %p, %x, 4, %p;
    ld.global.u32 %x, [%p];
    mov.u32 %r1, room;
    mad.lo.s32 %at, %r3, 4, %r1;
    st.shared.u32 [%at], %x;
    bar.sync 0;
    sub.s32 %r2, %r2, %r3;
    mad.lo.s32 %at, %r2, 4, %r1;
    ld.shared.u32 %x, [%at+-4];
    st.global.u32 [%p], %x;
    ret;
}
)";

__global__ void square(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= data[i];
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 20, n = blocks * 64, part = n - 10, devices = 0, major = 0, gain = -5, *d_y;
    char name[100] = "";
    CUdevice device;
    CUcontext context = nullptr;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGetCount(&devices));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDeviceGetName(name, sizeof name, device));
    DRIVER(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cudaFree(0));  // now the runtime's context is current
    DRIVER(cuCtxGetCurrent(&context));
    CUmodule module;
    CUfunction combine, reverse, missing;
    CUdeviceptr d_x, d_gain, d_bias;
    size_t gain_bytes = 0, bias_bytes = 0, bytes = n * sizeof(int);
    DRIVER(cuModuleLoadData(&module, ptx));
    DRIVER(cuModuleGetFunction(&combine, module, "combine"));
    DRIVER(cuModuleGetFunction(&reverse, module, "reverse"));
    DRIVER(cuModuleGetGlobal(&d_gain, &gain_bytes, module, "gain"));
    DRIVER(cuModuleGetGlobal(&d_bias, &bias_bytes, module, "bias"));
    bool right = devices >= 1 && name[0] && major >= 7 && context && gain_bytes == 4 && bias_bytes == 16 &&
                 cuModuleGetFunction(&missing, module, "missing") == CUDA_ERROR_NOT_FOUND;

    // x is the driver's memory, y the runtime's; the gain is 3 as the module says, then what the host writes.
    std::vector<int> x(n), y(n), result(n), bias = {10, 20, 30, 40};
    for (int i = 0; i < n; i++)
        x[i] = i % 97 - 40, y[i] = i % 31;
    DRIVER(cuMemAlloc(&d_x, bytes));
    CHECK(cudaMalloc(&d_y, bytes));
    DRIVER(cuMemcpyHtoD(d_x, x.data(), bytes));
    CHECK(cudaMemcpy(d_y, y.data(), bytes, cudaMemcpyHostToDevice));
    void *combine_arguments[] = {&d_x, &d_y, &part}, *reverse_arguments[] = {&d_x};
    DRIVER(cuLaunchKernel(combine, blocks, 1, 1, 64, 1, 1, 0, nullptr, combine_arguments, nullptr));
    square<<<blocks, 64>>>((int *)d_x, n);
    CHECK(cudaGetLastError());
    DRIVER(cuLaunchKernel(reverse, blocks, 1, 1, 64, 1, 1, 64 * sizeof(int), nullptr, reverse_arguments, nullptr));
    DRIVER(cuMemcpyHtoD(d_gain, &gain, sizeof gain));
    DRIVER(cuMemcpyHtoD(d_bias + 4, &gain, sizeof gain));
    DRIVER(cuLaunchKernel(combine, blocks, 1, 1, 64, 1, 1, 0, nullptr, combine_arguments, nullptr));
    DRIVER(cuCtxSynchronize());
    DRIVER(cuMemcpyDtoH(result.data(), (CUdeviceptr)d_y, bytes));
    DRIVER(cuMemFree(d_x));
    CHECK(cudaFree(d_y));
    DRIVER(cuModuleUnload(module));

    long long sum = 0;
    for (int i = 0; i < n; i++) {
        int other = x[i / 64 * 64 + 63 - i % 64], first = 3 * x[i] + bias[i % 4], b = i % 4 == 1 ? gain : bias[i % 4];
        right = right && result[i] == y[i] + (i < part ? first + gain * other * other + b : 0);
        sum += (long long)result[i] * (i % 9 + 1);
    }
    printf("%d elements, first %d, last %d, checksum %lld\n", n, result[0], result[n - 1], sum);
    puts(right ? "PASSED" : "FAILED: an element differs");
    return right ? 0 : 1;
}
