// Launches: a kernel's number, its grid and the bytes of its parameters go to the simtlab process, which answers when it has ended.
#include "simtlab_cuda.h"
#include <stdio.h>
#include <string.h>

#define MOST_PARAMETER_BYTES 32768

cudaError launch(Function *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream, int cooperative)
{
    char bytes[MOST_PARAMETER_BYTES];
    size_t length = 0;
    for (int k = 0; k < function->parameters; k++) {
        size_t end = function->parameter[k].offset + function->parameter[k].bytes;
        if (end > sizeof bytes || arguments == NULL)
            return done(INVALID_VALUE);
        memset(bytes + length, 0, end - length);
        memcpy(bytes + function->parameter[k].offset, arguments[k], function->parameter[k].bytes);
        length = end;
    }
    Request request = {.what = LAUNCH, .bytes = (uint32_t)length, .given = {function->number}};
    request.given[1] = (uint64_t)grid.y << 32 | grid.x;
    request.given[2] = (uint64_t)block.x << 32 | grid.z;
    request.given[3] = (uint64_t)block.z << 32 | block.y;
    request.given[4] = shared;
    request.given[5] = (uint64_t)stream << 1 | (cooperative != 0);
    Answer answer;
    return ask(&request, bytes, &answer, NULL, 0);  // what it printed is longer than no room, and goes to stdout
}

static cudaError launch_host(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream, int cooperative)
{
    Function *function;
    cudaError error = find_function(host, &function);
    return error ? error : launch(function, grid, block, arguments, shared, stream, cooperative);
}

// <<<...>>> ----------------------------------------------------------------------------------------------------------------

static _Thread_local struct { dim3 grid, block; size_t shared; void *stream; } configuration[16];
static _Thread_local int depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    if (depth == 16)
        return INVALID_CONFIGURATION;
    configuration[depth].grid = grid, configuration[depth].block = block;
    configuration[depth].shared = shared, configuration[depth].stream = stream;
    depth++;
    return OK;
}

cudaError __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream)
{
    if (depth == 0)
        return INVALID_CONFIGURATION;
    depth--;
    *grid = configuration[depth].grid, *block = configuration[depth].block;
    *shared = configuration[depth].shared, *stream = configuration[depth].stream;
    return OK;
}

cudaError __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream)
{
    return launch_host(kernel, grid, block, arguments, shared, stream, 0);
}

cudaError __cudaLaunchKernel_ptsz(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream)
{
    return launch_host(kernel, grid, block, arguments, shared, stream, 0);
}

cudaError cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream)
{
    return launch_host(host, grid, block, arguments, shared, stream, 0);
}

cudaError cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream)
{
    return launch_host(host, grid, block, arguments, shared, stream, 1);
}

typedef struct { int id; char _[4]; union { char bytes[64]; int number; unsigned three[3]; } value; } Attribute;
typedef struct { dim3 grid, block; size_t shared; void *stream; Attribute *attributes; unsigned n_attributes; } LaunchConfiguration;
enum { COOPERATIVE = 2, CLUSTER = 4 };

cudaError cudaLaunchKernelExC(const LaunchConfiguration *given, const void *host, void **arguments)
{
    int cooperative = 0;
    for (unsigned k = 0; k < given->n_attributes; k++) {
        const Attribute *one = given->attributes + k;
        if (one->id == COOPERATIVE)
            cooperative = one->value.number;
        if (one->id == CLUSTER && one->value.three[0] * one->value.three[1] * one->value.three[2] != 1)
            return unsupported("a launch in clusters");
    }
    return launch_host(host, given->grid, given->block, arguments, given->shared, given->stream, cooperative);
}

// What a kernel needs ---------------------------------------------------------------------------------------------------------

typedef struct {
    size_t shared, constant, local;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carve_out, rest[23];
} FunctionAttributes;

cudaError cudaFuncGetAttributes(FunctionAttributes *attributes, const void *host)
{
    Function *function;
    cudaError error = find_function(host, &function);
    if (error != OK)
        return error;
    memset(attributes, 0, sizeof *attributes);
    attributes->shared = (size_t)function->shared_bytes, attributes->constant = (size_t)function->constant_bytes;
    attributes->local = (size_t)function->local_bytes, attributes->max_threads = function->max_threads;
    attributes->registers = function->registers;
    attributes->ptx_version = attributes->binary_version = 10 * device.major + device.minor;
    attributes->max_dynamic_shared = function->dynamic_shared, attributes->carve_out = -1;
    return OK;
}

enum { MAX_DYNAMIC_SHARED = 8, CARVE_OUT = 9 };

cudaError cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    Function *function;
    cudaError error = find_function(host, &function);
    if (error != OK || attribute != MAX_DYNAMIC_SHARED)
        return error;
    error = ask_for(NULL, DYNAMIC_SHARED, function->number, (uint64_t)(int64_t)value, 0);
    if (error == OK)
        function->dynamic_shared = value;
    return error;
}

cudaError cudaFuncSetCacheConfig(const void *host, int config) { return OK; }
cudaError cudaFuncSetSharedMemConfig(const void *host, int config) { return OK; }

cudaError occupancy(int *ctas, Function *function, int threads, size_t shared)
{
    uint64_t found = 0;
    cudaError error = ask_for(&found, OCCUPANCY, function->number, (uint64_t)threads, shared);
    if (error == OK)
        *ctas = (int)found;
    return error;
}

cudaError cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ctas, const void *host, int threads, size_t shared, unsigned flags)
{
    Function *function;
    cudaError error = find_function(host, &function);
    return error ? error : occupancy(ctas, function, threads, shared);
}

cudaError cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, const void *host, int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ctas, host, threads, shared, 0);
}

cudaError cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int ctas, int threads)
{
    Function *function;
    cudaError error = find_function(host, &function);
    if (error == OK)
        *bytes = ctas > 0 ? (size_t)(device.shared_core_bytes / ctas - function->shared_bytes) : 0;
    return error;
}
