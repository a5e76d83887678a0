// What the files of simtlab's stand-in for NVIDIA's CUDA libraries share. The application's process holds this library; the GPU is
// in a simtlab process, at the other end of a socket. Device memory is a file that both map, so copies need no message.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifndef CUDA_MAJOR
#define CUDA_MAJOR 13
#endif

typedef int cudaError;
typedef struct { unsigned x, y, z; } dim3;

// Codes of NVIDIA's that are returned here; errors.c has their texts.
enum {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALISED = 3, INVALID_CONFIGURATION = 9, INVALID_PITCH = 12,
    INVALID_SYMBOL = 13, INVALID_TEXTURE = 18, INVALID_DIRECTION = 21, INVALID_FUNCTION = CUDA_MAJOR >= 13 ? 400 : 98, NO_DEVICE = 100,
    INVALID_DEVICE = 101, INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_TIMEOUT = 702, ASSERTION = 710,
    ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, ILLEGAL_INSTRUCTION = 715,
    LAUNCH_FAILURE = 719, NOT_SUPPORTED = 801, UNKNOWN_ERROR = 999
};

// What the simtlab process is asked to do, as in server.py.
enum {
    HELLO = 0, MODULE = 1, UNLOAD = 2, FUNCTION = 3, VARIABLE = 4, ALLOCATE = 5, FREE = 6, LAUNCH = 7, CLOCK = 8, RESET = 9,
    OCCUPANCY = 10, ARRAY = 11, FREE_ARRAY = 12, COPY_ARRAY = 13, TEXTURE = 14, SURFACE = 15, DESTROY = 16, WARN = 17,
    DYNAMIC_SHARED = 18
};

typedef struct {
    uint32_t what, bytes;  // bytes that follow
    uint64_t given[6];
} Request;

typedef struct {
    int32_t error;
    uint32_t bytes;  // that follow
    uint64_t value[2];
} Answer;

// The device, as HELLO tells it; in the order of server.py.
typedef struct {
    uint64_t heap, heap_bytes, total_bytes;
    int32_t cores, core_khz, memory_khz, bus_bits, l2_bytes, registers, max_warps, max_ctas, shared_bytes, shared_core_bytes;
    int32_t major, minor, timed, reserved;
    char name[256];
} Device;

// A kernel, as FUNCTION tells it.
typedef struct {
    uint64_t number;
    int32_t registers, shared_bytes, local_bytes, constant_bytes, max_threads, parameters;
    int32_t dynamic_shared, reserved;
    struct { uint32_t offset, bytes; } parameter[512];
} Function;

extern Device device;

// connection.c
cudaError connect_to_simtlab(void);  // OK when it is, or was before
cudaError ask(Request *request, const void *bytes, Answer *answer, void *room, size_t room_bytes);
cudaError ask_for(uint64_t *value, uint32_t what, uint64_t a, uint64_t b, uint64_t c);  // value may be NULL
cudaError done(cudaError error);  // notes an error as the thread's last one, and gives it back
cudaError unsupported(const char *name);  // named once on stderr
cudaError last_error(int forget);
cudaError *latest_error(void);
cudaError sticky_error(void);  // that of a kernel that failed, until the device is reset
void forget_sticky_error(void);

// memory.c
typedef struct {
    uint64_t start, bytes;
    char kind;  // what it came from: device, managed, pinned, variable
} Block;
void note_block(uint64_t start, uint64_t bytes, char kind);
int find_block(uint64_t address, Block *found);
void drop_block(uint64_t start);
char *host_address(uint64_t device_address);  // where this process has it
int is_device(const void *pointer);
cudaError check_range(const void *pointer, size_t bytes);  // whether it lies in one allocation
cudaError copy(void *to, const void *from, size_t bytes, int kind);
void forget_memory(void);

// registration.c
cudaError find_function(const void *host, Function **function);
cudaError find_variable(const void *host, uint64_t *address, size_t *bytes);
cudaError load_image(const void *image, uint64_t *module);
cudaError load_function(uint64_t module, const char *name, Function **function);
void forget_modules(void);

// launch.c
cudaError launch(Function *function, dim3 grid, dim3 block, void **arguments, size_t shared, void *stream, int cooperative);

// streams.c
void forget_streams(void);
