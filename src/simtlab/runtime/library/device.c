// The device: what the machine is, as applications ask for it.
#include "simtlab_cuda.h"
#include <stdio.h>
#include <string.h>

#define VERSION (CUDA_MAJOR * 1000)
#define OLD(field) field  // what CUDA 13 has left out
#if CUDA_MAJOR >= 13
#undef OLD
#define OLD(field)
#endif

typedef struct {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t total_bytes, shared_bytes;
    int registers, warp_size;
    size_t pitch;
    int max_threads, max_block[3], max_grid[3];
    OLD(int clock_khz;)
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    OLD(int overlap;)
    int cores;
    OLD(int time_limit;)
    int integrated, maps_host_memory;
    OLD(int compute_mode;)
    int texture_1d, texture_1d_mipmap;
    OLD(int texture_1d_linear;)
    int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3], texture_3d_other[3];
    int texture_cube, texture_1d_layers[2], texture_2d_layers[3], texture_cube_layers[2];
    int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layers[2], surface_2d_layers[3], surface_cube, surface_cube_layers[2];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing;
    OLD(int memory_khz;)
    int bus_bits, l2_bytes, persisting_bytes, max_threads_core, stream_priorities, global_l1, local_l1;
    size_t shared_core_bytes;
    int registers_core, managed_memory, several_gpus, several_group, host_atomics;
    OLD(int single_to_double;)
    int pageable_access, concurrent_managed, preemption, registered_pointer, cooperative_launch;
    OLD(int cooperative_devices;)
    size_t shared_bytes_optin;
    int host_page_tables, direct_managed, max_ctas_core, window_bytes;
    size_t reserved_shared_bytes;
    int host_register, rest[80];
} Properties;

static const size_t PROPERTIES_BYTES = CUDA_MAJOR >= 13 ? 1008 : 1032;

static cudaError properties(Properties *given, int number)
{
    cudaError error = connect_to_simtlab();
    if (error == OK && number != 0)
        error = INVALID_DEVICE;
    if (error != OK)
        return done(error);
    memset(given, 0, PROPERTIES_BYTES);
    memcpy(given->name, device.name, sizeof device.name);
    given->total_bytes = device.total_bytes, given->shared_bytes = 49152, given->shared_bytes_optin = (size_t)device.shared_bytes;
    given->shared_core_bytes = (size_t)device.shared_core_bytes;
    given->registers = given->registers_core = device.registers, given->warp_size = 32, given->pitch = 0x7fffffff;
    given->max_threads = 1024, given->max_threads_core = 32 * device.max_warps, given->max_ctas_core = device.max_ctas;
    given->max_block[0] = given->max_block[1] = 1024, given->max_block[2] = 64;
    given->max_grid[0] = 0x7fffffff, given->max_grid[1] = given->max_grid[2] = 65535;
    given->constant_bytes = 65536, given->major = device.major, given->minor = device.minor;
    given->texture_alignment = given->surface_alignment = 512, given->texture_pitch_alignment = 32;
    given->cores = device.cores, given->maps_host_memory = given->unified_addressing = given->managed_memory = 1;
    given->concurrent_kernels = given->stream_priorities = given->global_l1 = given->local_l1 = 1;
    given->concurrent_managed = given->cooperative_launch = given->copy_engines = given->host_register = 1;
    given->texture_1d = given->surface_1d = 131072, given->texture_2d[0] = given->surface_2d[0] = 131072;
    given->texture_2d[1] = given->surface_2d[1] = 65536;
    for (int k = 0; k < 3; k++)
        given->texture_3d[k] = given->surface_3d[k] = 16384;
    given->texture_2d_linear[0] = 131072, given->texture_2d_linear[1] = 65000, given->texture_2d_linear[2] = 2097120;
    given->bus_bits = device.bus_bits, given->l2_bytes = device.l2_bytes;
    OLD(given->clock_khz = device.core_khz;)
    OLD(given->memory_khz = device.memory_khz;)
    OLD(given->overlap = 1;)
    return OK;
}

cudaError cudaGetDeviceProperties(Properties *given, int number) { return properties(given, number); }
#if CUDA_MAJOR < 13
cudaError cudaGetDeviceProperties_v2(Properties *given, int number) { return properties(given, number); }
#endif

cudaError attribute(int *value, int which)
{
    cudaError error = connect_to_simtlab();
    if (error != OK)
        return done(error);
    const struct { int which, value; } known[] = {
        {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 0x7fffffff}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32},
        {11, 0x7fffffff}, {12, device.registers}, {13, device.core_khz}, {14, 512}, {15, 1}, {16, device.cores}, {17, 0}, {18, 0},
        {19, 1}, {20, 0}, {21, 131072}, {22, 131072}, {23, 65536}, {24, 16384}, {25, 16384}, {26, 16384}, {30, 512}, {31, 1}, {32, 0},
        {33, 0}, {34, 0}, {35, 0}, {36, device.memory_khz}, {37, device.bus_bits}, {38, device.l2_bytes},
        {39, 32 * device.max_warps}, {40, 1}, {41, 1}, {50, 0}, {51, 32}, {75, device.major}, {76, device.minor}, {78, 1}, {79, 1},
        {80, 1}, {81, device.shared_core_bytes}, {82, device.registers}, {83, 1}, {84, 0}, {85, 0}, {86, 0}, {87, 32}, {88, 0},
        {89, 1}, {90, 0}, {91, 0}, {92, 0}, {93, 0}, {94, 0}, {95, 1}, {96, 0}, {97, device.shared_bytes}, {98, 0}, {99, 1}, {100, 0},
        {101, 0}, {102, 0}, {106, device.max_ctas}, {108, 0}, {109, 0}, {111, 1024}, {112, 0}, {113, 1}, {115, 1}, {116, 0},
        {120, 0}, {121, 0},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].which == which) {
            *value = known[k].value;
            return OK;
        }
    *value = 0;
    return done(INVALID_VALUE);
}

cudaError cudaDeviceGetAttribute(int *value, int which, int number)
{
    return number != 0 ? done(INVALID_DEVICE) : attribute(value, which);
}

cudaError cudaGetDeviceCount(int *count)
{
    cudaError error = connect_to_simtlab();
    *count = error == OK;
    return done(error);
}

cudaError cudaGetDevice(int *number)
{
    *number = 0;
    return done(connect_to_simtlab());
}

cudaError cudaSetDevice(int number)
{
    cudaError error = connect_to_simtlab();
    return done(error ? error : number == 0 ? OK : INVALID_DEVICE);
}

cudaError cudaInitDevice(int number, unsigned device_flags, unsigned flags) { return cudaSetDevice(number); }
cudaError cudaSetValidDevices(int *numbers, int count) { return OK; }
static unsigned device_flags = 8;  // host memory is mapped

cudaError cudaSetDeviceFlags(unsigned flags)
{
    device_flags = flags | 8;
    return done(connect_to_simtlab());
}

cudaError cudaGetDeviceFlags(unsigned *flags)
{
    *flags = device_flags;
    return done(connect_to_simtlab());
}

cudaError cudaChooseDevice(int *number, const Properties *wanted) { return cudaGetDevice(number); }
cudaError cudaDeviceGetByPCIBusId(int *number, const char *name) { return cudaGetDevice(number); }

cudaError cudaDeviceGetPCIBusId(char *name, int length, int number)
{
    snprintf(name, (size_t)length, "0000:00:00.0");
    return done(connect_to_simtlab());
}

cudaError cudaDeviceSynchronize(void)
{
    cudaError error = connect_to_simtlab();
    return error ? done(error) : sticky_error();
}

cudaError cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

cudaError cudaDeviceReset(void)
{
    if (connect_to_simtlab() != OK)
        return done(connect_to_simtlab());
    forget_sticky_error();
    forget_modules();
    forget_memory();
    forget_streams();
    return ask_for(NULL, RESET, 0, 0, 0);
}

cudaError cudaThreadExit(void) { return cudaDeviceReset(); }

static size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

cudaError cudaDeviceSetLimit(int which, size_t value)
{
    if (which < 0 || (size_t)which >= sizeof limits / sizeof *limits)
        return done(INVALID_VALUE);
    limits[which] = value;
    return done(connect_to_simtlab());
}

cudaError cudaDeviceGetLimit(size_t *value, int which)
{
    if (which < 0 || (size_t)which >= sizeof limits / sizeof *limits)
        return done(INVALID_VALUE);
    *value = limits[which];
    return done(connect_to_simtlab());
}

cudaError cudaThreadSetLimit(int which, size_t value) { return cudaDeviceSetLimit(which, value); }
cudaError cudaDeviceSetCacheConfig(int config) { return done(connect_to_simtlab()); }
cudaError cudaThreadSetCacheConfig(int config) { return done(connect_to_simtlab()); }
cudaError cudaDeviceSetSharedMemConfig(int config) { return done(connect_to_simtlab()); }

cudaError cudaDeviceGetCacheConfig(int *config)
{
    *config = 0;
    return done(connect_to_simtlab());
}

cudaError cudaDeviceGetSharedMemConfig(int *config)
{
    *config = 1;  // banks of four bytes
    return done(connect_to_simtlab());
}

cudaError cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0, *greatest = -5;
    return done(connect_to_simtlab());
}

cudaError cudaDeviceCanAccessPeer(int *can, int one, int other)
{
    *can = 0;
    return done(one == 0 && other == 0 ? OK : INVALID_DEVICE);
}

cudaError cudaDeviceEnablePeerAccess(int other, unsigned flags) { return done(INVALID_DEVICE); }
cudaError cudaDeviceDisablePeerAccess(int other) { return done(INVALID_DEVICE); }

cudaError cudaRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return OK;
}

cudaError cudaDriverGetVersion(int *version)
{
    *version = VERSION;
    return OK;
}

cudaError cudaProfilerStart(void) { return OK; }
cudaError cudaProfilerStop(void) { return OK; }
cudaError cudaCtxResetPersistingL2Cache(void) { return OK; }

// Where managed memory should be is told in vain: there is one memory.
cudaError cudaMemPrefetchAsync(const void *pointer, size_t bytes) { return done(check_range(pointer, bytes)); }
cudaError cudaMemAdvise(const void *pointer, size_t bytes) { return done(check_range(pointer, bytes)); }
#if CUDA_MAJOR < 13
cudaError cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes) { return done(check_range(pointer, bytes)); }
cudaError cudaMemAdvise_v2(const void *pointer, size_t bytes) { return done(check_range(pointer, bytes)); }
#endif

cudaError cudaDeviceGetDefaultMemPool(void **pool, int number)
{
    *pool = &device;
    return done(connect_to_simtlab());
}

cudaError cudaDeviceGetMemPool(void **pool, int number) { return cudaDeviceGetDefaultMemPool(pool, number); }
cudaError cudaDeviceSetMemPool(int number, void *pool) { return done(connect_to_simtlab()); }
cudaError cudaMemPoolSetAttribute(void *pool, int which, void *value) { return done(connect_to_simtlab()); }
cudaError cudaMemPoolTrimTo(void *pool, size_t bytes) { return done(connect_to_simtlab()); }
