// Host memory of the application's own that it registers with the device.
#define _GNU_SOURCE
#include "simtlab_cuda.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Registered memory is the host's own, and may be copied as it is. When a kernel's pointer to it is asked for, its pages move into device
// memory, and that is mapped where they were.
typedef struct {
    char *host;
    size_t bytes;
    uint64_t device_pages;  // 0: its pages have not moved
} Registered;
static Registered registered[256];

static Registered *find_registered(const void *pointer)
{
    for (int k = 0; k < 256; k++)
        if (registered[k].host != NULL && (size_t)((char *)pointer - registered[k].host) < registered[k].bytes)
            return &registered[k];
    return NULL;
}

static void pages_of(const Registered *one, char **first, size_t *bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *first = (char *)((uint64_t)one->host & ~(page - 1));
    *bytes = (((uint64_t)one->host + one->bytes + page - 1) & ~(page - 1)) - (uint64_t)*first;
}

static int is_on_stack(const char *first, size_t bytes)
{
    const char *here = __builtin_frame_address(0);
    return here + (16 << 20) > first && here - (16 << 20) < first + bytes && here > first - (16 << 20);
}

static cudaError move_pages(Registered *one)
{
    char *first;
    size_t bytes, page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t address;
    pages_of(one, &first, &bytes);
    if (is_on_stack(first, bytes))
        return unsupported("cudaHostGetDevicePointer of memory on the stack");
    cudaError error = ask_for(&address, ALLOCATE, bytes + page, 'r', 0);
    if (error != OK)
        return error;
    uint64_t start = (address + page - 1) & ~(uint64_t)(page - 1);
    memcpy(host_address(start), first, bytes);
    if (mremap(host_address(start), 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first) != first)
        return UNKNOWN_ERROR;
    note_block(address, bytes + page, 'r');
    one->device_pages = start;
    return OK;
}

cudaError cudaHostGetDevicePointer(void **pointer, void *host, unsigned flags)
{
    Block block;
    if (find_block((uint64_t)host, &block)) {
        *pointer = host;
        return OK;
    }
    Registered *one = find_registered(host);
    if (one == NULL)
        return done(INVALID_VALUE);
    cudaError error = one->device_pages ? OK : move_pages(one);
    if (error != OK)
        return done(error);
    char *first;
    size_t bytes;
    pages_of(one, &first, &bytes);
    *pointer = (void *)(one->device_pages + (uint64_t)((char *)host - first));
    return OK;
}

cudaError cudaHostRegister(void *host, size_t bytes, unsigned flags)
{
    if (host == NULL || bytes == 0)
        return done(INVALID_VALUE);
    if (find_registered(host) != NULL)
        return done(ALREADY_REGISTERED);
    for (int k = 0; k < 256; k++)
        if (registered[k].host == NULL) {
            registered[k] = (Registered){host, bytes, 0};
            return done(connect_to_simtlab());
        }
    return done(OUT_OF_MEMORY);
}

cudaError cudaHostUnregister(void *host)
{
    Registered *one = find_registered(host);
    if (one == NULL || one->host != host)
        return done(NOT_REGISTERED);
    if (one->device_pages != 0) {  // the pages become the host's own again
        char *first;
        size_t bytes;
        pages_of(one, &first, &bytes);
        mmap(first, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        memcpy(first, host_address(one->device_pages), bytes);
        Block block;
        if (find_block(one->device_pages, &block)) {
            drop_block(block.start);
            ask_for(NULL, FREE, block.start, 0, 0);
        }
    }
    *one = (Registered){0};
    return OK;
}
