// The driver's functions that programs and frameworks use beside the runtime's. One device, one context, which is always there.
#include "simtlab_cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cudaError cudaMalloc(void **pointer, size_t bytes);
cudaError cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
cudaError cudaMallocHost(void **pointer, size_t bytes);
cudaError cudaFreeHost(void *pointer);
cudaError cudaFree(void *pointer);
cudaError cudaMemset(void *pointer, int value, size_t bytes);
cudaError cudaMemGetInfo(size_t *left, size_t *total);
cudaError cudaDeviceSynchronize(void);
cudaError cudaStreamCreateWithFlags(void **stream, unsigned flags);
cudaError cudaStreamDestroy(void *stream);
cudaError cudaStreamSynchronize(void *stream);
cudaError cudaEventCreateWithFlags(void **event, unsigned flags);
cudaError cudaEventRecord(void *event, void *stream);
cudaError cudaEventSynchronize(void *event);
cudaError cudaEventElapsedTime(float *milliseconds, void *from, void *to);
cudaError cudaEventDestroy(void *event);
const char *cudaGetErrorName(cudaError code);
const char *cudaGetErrorString(cudaError code);
cudaError attribute(int *value, int which);
cudaError occupancy(int *ctas, Function *function, int threads, size_t shared);
void note_variable(uint64_t address, size_t bytes);

// The runtime's last error is no matter of the driver's functions.
#define DRIVERS(call)                        \
    ({                                       \
        cudaError before = *latest_error();  \
        cudaError error_here = (call);       \
        *latest_error() = before;            \
        error_here;                          \
    })

static int context;  // its address stands for the context

cudaError cuInit(unsigned flags) { return DRIVERS(connect_to_simtlab()); }

cudaError cuDriverGetVersion(int *version)
{
    *version = CUDA_MAJOR * 1000;
    return OK;
}

cudaError cuDeviceGetCount(int *count)
{
    *count = connect_to_simtlab() == OK;
    return OK;
}

cudaError cuDeviceGet(int *number, int ordinal)
{
    *number = 0;
    return ordinal == 0 ? connect_to_simtlab() : INVALID_DEVICE;
}

cudaError cuDeviceGetName(char *name, int length, int number)
{
    snprintf(name, (size_t)length, "%s", device.name);
    return OK;
}

cudaError cuDeviceTotalMem_v2(size_t *bytes, int number)
{
    *bytes = device.total_bytes;
    return OK;
}

cudaError cuDeviceGetAttribute(int *value, int which, int number) { return DRIVERS(attribute(value, which)); }

cudaError cuDeviceComputeCapability(int *major, int *minor, int number)
{
    *major = device.major, *minor = device.minor;
    return OK;
}

cudaError cuDeviceCanAccessPeer(int *can, int number, int other)
{
    *can = 0;
    return OK;
}

cudaError cuCtxCreate_v2(void **made, unsigned flags, int number)
{
    *made = &context;
    return connect_to_simtlab();
}

cudaError cuCtxCreate_v4(void **made, void *parameters, unsigned flags, int number) { return cuCtxCreate_v2(made, flags, number); }
cudaError cuCtxDestroy_v2(void *one) { return OK; }
cudaError cuCtxSetCurrent(void *one) { return OK; }
cudaError cuCtxPushCurrent_v2(void *one) { return OK; }
cudaError cuCtxSynchronize(void) { return DRIVERS(cudaDeviceSynchronize()); }

cudaError cuCtxGetCurrent(void **current)
{
    *current = &context;
    return connect_to_simtlab();
}

cudaError cuCtxPopCurrent_v2(void **current) { return cuCtxGetCurrent(current); }

cudaError cuCtxGetDevice(int *number)
{
    *number = 0;
    return connect_to_simtlab();
}

cudaError cuDevicePrimaryCtxRetain(void **made, int number) { return cuCtxGetCurrent(made); }
cudaError cuDevicePrimaryCtxRelease_v2(int number) { return OK; }
cudaError cuDevicePrimaryCtxReset_v2(int number) { return OK; }

// Modules -----------------------------------------------------------------------------------------------------------------

cudaError cuModuleLoadData(void **module, const void *image)
{
    uint64_t number = 0;
    cudaError error = image == NULL ? INVALID_VALUE : DRIVERS(load_image(image, &number));
    *module = (void *)number;
    return error;
}

cudaError cuModuleLoadDataEx(void **module, const void *image, unsigned options, int *names, void **values)
{
    return cuModuleLoadData(module, image);
}

cudaError cuModuleLoadFatBinary(void **module, const void *image) { return cuModuleLoadData(module, image); }

cudaError cuModuleLoad(void **module, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 301;  // CUDA_ERROR_FILE_NOT_FOUND
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    rewind(file);
    char *image = calloc(1, (size_t)bytes + 1);
    size_t got = fread(image, 1, (size_t)bytes, file);
    fclose(file);
    cudaError error = got == (size_t)bytes ? cuModuleLoadData(module, image) : UNKNOWN_ERROR;
    free(image);
    return error;
}

cudaError cuModuleUnload(void *module) { return DRIVERS(ask_for(NULL, UNLOAD, (uint64_t)module, 0, 0)); }

cudaError cuModuleGetFunction(Function **function, void *module, const char *name)
{
    return DRIVERS(load_function((uint64_t)module, name, function));
}

cudaError cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    Request request = {.what = VARIABLE, .bytes = (uint32_t)strlen(name), .given = {(uint64_t)module}};
    Answer answer;
    cudaError error = DRIVERS(ask(&request, name, &answer, NULL, 0));
    if (error == OK) {
        note_variable(answer.value[0], answer.value[1]);
        if (address != NULL)
            *address = answer.value[0];
        if (bytes != NULL)
            *bytes = answer.value[1];
    }
    return error;
}

enum { MAX_THREADS = 0, SHARED = 1, CONSTANT = 2, LOCAL = 3, REGISTERS = 4, MAX_DYNAMIC = 8 };

cudaError cuFuncGetAttribute(int *value, int which, Function *function)
{
    *value = which == MAX_THREADS ? function->max_threads : which == SHARED ? function->shared_bytes
             : which == CONSTANT  ? function->constant_bytes
             : which == LOCAL     ? function->local_bytes
             : which == REGISTERS ? function->registers
             : which == MAX_DYNAMIC ? function->dynamic_shared : 0;
    return OK;
}

cudaError cuFuncSetAttribute(Function *function, int which, int value)
{
    if (which != MAX_DYNAMIC)
        return OK;
    cudaError error = DRIVERS(ask_for(NULL, DYNAMIC_SHARED, function->number, (uint64_t)(int64_t)value, 0));
    if (error == OK)
        function->dynamic_shared = value;
    return error;
}

cudaError cuFuncSetCacheConfig(Function *function, int config) { return OK; }

cudaError cuLaunchKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, void *stream, void **arguments, void **extra)
{
    if (extra != NULL && arguments == NULL) {  // the parameters in one buffer, as {1, buffer, 2, &bytes, 0}
        void *parts[512];
        const char *buffer = extra[1];
        for (int k = 0; k < function->parameters; k++)
            parts[k] = (void *)(buffer + function->parameter[k].offset);
        return DRIVERS(launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, parts, shared, stream, 0));
    }
    return DRIVERS(launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, arguments, shared, stream, 0));
}

cudaError cuLaunchCooperativeKernel(Function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                    unsigned shared, void *stream, void **arguments)
{
    return DRIVERS(launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, arguments, shared, stream, 1));
}

cudaError cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, Function *function, int threads, size_t shared)
{
    return DRIVERS(occupancy(ctas, function, threads, shared));
}

cudaError cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ctas, Function *function, int threads, size_t shared, unsigned flags)
{
    return DRIVERS(occupancy(ctas, function, threads, shared));
}

// The block with which most threads are on a core; of several, the largest.
cudaError cuOccupancyMaxPotentialBlockSize(int *ctas, int *threads, Function *function, size_t (*shared_of)(int), size_t shared, int limit)
{
    int most = 0, top = limit > 0 && limit < function->max_threads ? limit : function->max_threads;
    *ctas = *threads = 0;
    for (int size = (top + 31) / 32 * 32; size > 0; size -= 32) {
        int block = size < top ? size : top, there;
        cudaError error = DRIVERS(occupancy(&there, function, block, shared_of ? shared_of(block) : shared));
        if (error != OK)
            return error;
        if (there * block > most)
            most = there * block, *threads = block, *ctas = there * device.cores;
    }
    return OK;
}

cudaError cuOccupancyMaxPotentialBlockSizeWithFlags(int *ctas, int *threads, Function *function, size_t (*shared_of)(int), size_t shared,
                                                    int limit, unsigned flags)
{
    return cuOccupancyMaxPotentialBlockSize(ctas, threads, function, shared_of, shared, limit);
}

// Memory ------------------------------------------------------------------------------------------------------------------

cudaError cuMemAlloc_v2(uint64_t *address, size_t bytes) { return DRIVERS(bytes ? cudaMalloc((void **)address, bytes) : INVALID_VALUE); }
cudaError cuMemFree_v2(uint64_t address) { return DRIVERS(cudaFree((void *)address)); }
cudaError cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags) { return DRIVERS(cudaMallocManaged((void **)address, bytes, flags)); }
cudaError cuMemAllocHost_v2(void **pointer, size_t bytes) { return DRIVERS(cudaMallocHost(pointer, bytes)); }
cudaError cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) { return DRIVERS(cudaMallocHost(pointer, bytes)); }
cudaError cuMemFreeHost(void *pointer) { return DRIVERS(cudaFreeHost(pointer)); }
cudaError cuMemGetInfo_v2(size_t *left, size_t *total) { return DRIVERS(cudaMemGetInfo(left, total)); }
cudaError cuMemcpy(uint64_t to, uint64_t from, size_t bytes) { return DRIVERS(copy((void *)to, (void *)from, bytes, 4)); }
cudaError cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return DRIVERS(copy((void *)to, from, bytes, 1)); }
cudaError cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return DRIVERS(copy(to, (void *)from, bytes, 2)); }
cudaError cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) { return DRIVERS(copy((void *)to, (void *)from, bytes, 3)); }
cudaError cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) { return DRIVERS(copy((void *)to, from, bytes, 1)); }
cudaError cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s) { return DRIVERS(copy(to, (void *)from, bytes, 2)); }
cudaError cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s) { return DRIVERS(copy((void *)to, (void *)from, bytes, 3)); }
cudaError cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) { return DRIVERS(cudaMemset((void *)to, value, count)); }

cudaError cuMemsetD32_v2(uint64_t to, unsigned value, size_t count)
{
    cudaError error = check_range((void *)to, 4 * count);
    unsigned *words = (unsigned *)host_address(to);
    for (size_t k = 0; k < count && error == OK; k++)
        words[k] = value;
    return error;
}

typedef struct { int type, device; void *device_pointer, *host_pointer; long reserved[8]; } PointerAttributes;
cudaError cudaPointerGetAttributes(PointerAttributes *attributes, const void *pointer);
enum { OF_CONTEXT = 1, MEMORY_TYPE = 2, DEVICE_POINTER = 3, HOST_POINTER = 4, IS_MANAGED = 8, DEVICE_ORDINAL = 9 };

cudaError cuPointerGetAttribute(void *value, int which, uint64_t address)
{
    PointerAttributes found;
    cudaError error = DRIVERS(cudaPointerGetAttributes(&found, (void *)address));
    if (error != OK || found.type == 0)
        return error ? error : INVALID_VALUE;
    if (which == OF_CONTEXT)
        *(void **)value = &context;
    else if (which == MEMORY_TYPE)
        *(unsigned *)value = found.type == 1 ? 1 : 2;
    else if (which == DEVICE_POINTER)
        *(void **)value = found.device_pointer;
    else if (which == HOST_POINTER)
        *(void **)value = found.host_pointer;
    else if (which == IS_MANAGED)
        *(unsigned *)value = found.type == 3;
    else if (which == DEVICE_ORDINAL)
        *(int *)value = 0;
    else
        return NOT_SUPPORTED;
    return OK;
}

// Streams and events --------------------------------------------------------------------------------------------------------

cudaError cuStreamCreate(void **stream, unsigned flags) { return DRIVERS(cudaStreamCreateWithFlags(stream, flags)); }
cudaError cuStreamDestroy_v2(void *stream) { return DRIVERS(cudaStreamDestroy(stream)); }
cudaError cuStreamSynchronize(void *stream) { return DRIVERS(cudaStreamSynchronize(stream)); }
cudaError cuEventCreate(void **event, unsigned flags) { return DRIVERS(cudaEventCreateWithFlags(event, flags)); }
cudaError cuEventRecord(void *event, void *stream) { return DRIVERS(cudaEventRecord(event, stream)); }
cudaError cuEventSynchronize(void *event) { return DRIVERS(cudaEventSynchronize(event)); }
cudaError cuEventElapsedTime(float *milliseconds, void *from, void *to) { return DRIVERS(cudaEventElapsedTime(milliseconds, from, to)); }
cudaError cuEventElapsedTime_v2(float *milliseconds, void *from, void *to) { return DRIVERS(cudaEventElapsedTime(milliseconds, from, to)); }
cudaError cuEventDestroy_v2(void *event) { return DRIVERS(cudaEventDestroy(event)); }

cudaError cuGetErrorName(cudaError code, const char **name)
{
    *name = cudaGetErrorName(code);
    return OK;
}

cudaError cuGetErrorString(cudaError code, const char **text)
{
    *text = cudaGetErrorString(code);
    return OK;
}
