// Asks the device what it is, then does everything wrong and looks at the codes that come back.
// There for: queries of device, versions and limits, cudaSetDeviceFlags, cudaGetLastError, cudaPeekAtLastError,
// cudaGetErrorName, cudaGetErrorString, cudaDeviceReset. It prints codes only, nothing of the device.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", \
    __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
#define REQUIRE(condition) require((condition), #condition)

static int failures = 0;
static void require(bool condition, const char *what)
{
    if (!condition)
        failures++, printf("not so: %s\n", what);
}

// A call that must fail: the code comes back, is there to be seen until it is fetched, and then is gone.
static void expect(cudaError_t got, cudaError_t wanted, const char *what)
{
    printf("%s: %s, %s\n", what, cudaGetErrorName(got), cudaGetErrorString(got));
    require(got == wanted, cudaGetErrorName(wanted));
    require(cudaPeekAtLastError() == wanted, "seen by cudaPeekAtLastError");
    require(cudaGetLastError() == wanted, "returned by cudaGetLastError");
    require(cudaGetLastError() == cudaSuccess, "cleared by cudaGetLastError");
}

__device__ int counter = 5;
__global__ void count() { atomicAdd(&counter, 1); }

static int counted()
{
    int value = 0;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    return value;
}

static cudaError_t launch(dim3 grid, dim3 block)
{
    count<<<grid, block>>>();
    return cudaPeekAtLastError();
}

static void query()
{
    unsigned int flags = 0;
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CHECK(cudaGetDeviceFlags(&flags));
    REQUIRE((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    int count = 0, device = -1, driver = 0, runtime = 0, multiprocessors = 0, warp = 0;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    REQUIRE(count >= 1 && device == 0 && runtime >= 11000 && driver / 1000 >= runtime / 1000);

    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device));
    REQUIRE(strlen(properties.name) > 0 && properties.warpSize == 32 && warp == 32);
    REQUIRE(multiprocessors >= 1 && properties.multiProcessorCount == multiprocessors);
    REQUIRE(properties.maxThreadsPerBlock >= 512 && properties.maxThreadsDim[2] >= 64);
    REQUIRE(properties.totalGlobalMem > 0 && properties.sharedMemPerBlock >= 48 * 1024);
    REQUIRE(properties.regsPerBlock > 0 && properties.totalConstMem >= 65536 && properties.major >= 3);
    REQUIRE(properties.canMapHostMemory && properties.unifiedAddressing && properties.maxGridSize[1] >= 65535);

    struct { cudaLimit limit; size_t wanted; } limits[] = {
        {cudaLimitStackSize, 2048}, {cudaLimitPrintfFifoSize, 2 << 20}, {cudaLimitMallocHeapSize, 16 << 20}};
    for (auto &entry : limits) {
        size_t got = 0;
        CHECK(cudaDeviceSetLimit(entry.limit, entry.wanted));
        CHECK(cudaDeviceGetLimit(&got, entry.limit));
        REQUIRE(got >= entry.wanted);
    }
}

// CUDA 13 has other codes than those before it.
const bool newer = CUDART_VERSION >= 13000;
const cudaError_t bad_launch = newer ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
const cudaError_t no_kernel = newer ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;

static void do_wrong()
{
    int host[4] = {}, *device, was = -1;
    float milliseconds;
    void *address;
    cudaFuncAttributes attributes;
    cudaEvent_t start, stop;
    CHECK(cudaMalloc(&device, 4096));
    for (cudaEvent_t *event : {&start, &stop})
        CHECK(cudaEventCreate(event));
    expect(cudaMalloc(&address, (size_t)1 << 46), cudaErrorMemoryAllocation, "64 TiB");
    expect(launch(1, 2048), bad_launch, "2048 threads a block");
    expect(launch(1, dim3(1, 1, 65)), bad_launch, "65 threads deep");
    expect(launch(0, 32), bad_launch, "no blocks");
    expect(cudaFree(device + 16), cudaErrorInvalidValue, "free inside an allocation");
    expect(cudaFree(host), cudaErrorInvalidValue, "free of the host's memory");
    expect(cudaSetDevice(99), cudaErrorInvalidDevice, "device 99");
    expect(cudaMemcpy(device, host, 16, (cudaMemcpyKind)7), cudaErrorInvalidMemcpyDirection, "copy of no kind");
    expect(cudaMemcpy(nullptr, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue, "copy to nowhere");
    expect(cudaMemcpyToSymbol(counter, host, 16), cudaErrorInvalidValue, "more than a symbol holds");
    expect(cudaGetSymbolAddress(&address, failures), cudaErrorInvalidSymbol, "symbol of the host");
    expect(cudaFuncGetAttributes(&attributes, (const void *)host), no_kernel, "no kernel");
    expect(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle, "events without a record");

    // What succeeds does not clear an error, what fails replaces it; the device in use stays the same.
    REQUIRE(launch(1, 2048) == bad_launch);
    REQUIRE(cudaMemset(device, 0, 4096) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaPeekAtLastError() == bad_launch);
    REQUIRE(cudaSetDevice(99) != cudaSuccess && cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetDevice(&was));
    CHECK(cudaFree(device));
    expect(cudaFree(device), cudaErrorInvalidValue, "second free");
    for (cudaEvent_t event : {start, stop})
        CHECK(cudaEventDestroy(event));
    REQUIRE(was == 0 && counted() == 5);  // none of these launches ran
    REQUIRE(launch(3, 64) == cudaSuccess && counted() == 5 + 3 * 64);
}

int main()
{
    query();
    do_wrong();
    CHECK(cudaDeviceReset());
    REQUIRE(counted() == 5);  // the device starts anew
    printf("%s, %s\n", cudaGetErrorString(cudaSuccess), cudaGetErrorName((cudaError_t)12345));
    puts(failures == 0 ? "PASSED" : "FAILED: see above");
    return failures == 0 ? 0 : 1;
}
