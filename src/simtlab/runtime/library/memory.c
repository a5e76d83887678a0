// Device memory: asked for at the simtlab process, copied here, in the file that both map.
#define _GNU_SOURCE
#include "simtlab_cuda.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char *memory_base;
int memory_file = -1;  // that it maps
enum { LARGE = 4 << 20 };  // bytes of a copy

// Allocations in order of address, so that copies out of bounds are found without asking.
static Block *blocks;
static size_t n_blocks, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(uint64_t address)  // the number of blocks that start at it or below
{
    size_t low = 0, high = n_blocks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void note_block(uint64_t start, uint64_t bytes, char kind)
{
    pthread_mutex_lock(&lock);
    if (n_blocks == room)
        blocks = realloc(blocks, (room = 2 * room + 64) * sizeof *blocks);
    size_t at = place_of(start);
    memmove(blocks + at + 1, blocks + at, (n_blocks - at) * sizeof *blocks);
    blocks[at] = (Block){start, bytes, kind};
    n_blocks++;
    pthread_mutex_unlock(&lock);
}

int find_block(uint64_t address, Block *found)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(address);
    int there = at > 0 && address - blocks[at - 1].start < (blocks[at - 1].bytes ? blocks[at - 1].bytes : 1);
    if (there)
        *found = blocks[at - 1];
    pthread_mutex_unlock(&lock);
    return there;
}

void drop_block(uint64_t start)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(start) - 1;
    memmove(blocks + at, blocks + at + 1, (n_blocks - at - 1) * sizeof *blocks);
    n_blocks--;
    pthread_mutex_unlock(&lock);
}

void forget_memory(void)
{
    n_blocks = 0;
}

void note_variable(uint64_t address, size_t bytes)
{
    note_block(address, bytes, 'v');
}

int is_device(const void *pointer)
{
    return (uint64_t)pointer - device.heap < device.heap_bytes;
}

char *host_address(uint64_t address)
{
    return memory_base + (address - device.heap);
}

cudaError check_range(const void *pointer, size_t bytes)
{
    Block block;
    uint64_t address = (uint64_t)pointer;
    if (!find_block(address, &block) || bytes > block.start + block.bytes - address)
        return INVALID_VALUE;
    return OK;
}

static cudaError allocate(void **pointer, size_t bytes, char kind)
{
    if (pointer == NULL)
        return done(INVALID_VALUE);
    uint64_t address = 0;
    if (bytes == 0) {
        *pointer = NULL;
        return done(connect_to_simtlab());
    }
    cudaError error = ask_for(&address, ALLOCATE, bytes, (uint64_t)kind, 0);
    if (error == OK) {
        note_block(address, bytes, kind);
        *pointer = (void *)address;
    }
    return error;
}

static cudaError release(void *pointer, const char *kinds)
{
    Block block;
    if (pointer == NULL)
        return done(connect_to_simtlab());
    if (!find_block((uint64_t)pointer, &block) || block.start != (uint64_t)pointer || strchr(kinds, block.kind) == NULL)
        return done(INVALID_VALUE);
    drop_block(block.start);
    return ask_for(NULL, FREE, block.start, 0, 0);
}

cudaError cudaMalloc(void **pointer, size_t bytes) { return allocate(pointer, bytes, 'd'); }
cudaError cudaFree(void *pointer) { return release(pointer, "dm"); }
cudaError cudaMallocAsync(void **pointer, size_t bytes, void *stream) { return allocate(pointer, bytes, 'd'); }
cudaError cudaMallocFromPoolAsync(void **pointer, size_t bytes, void *pool, void *stream) { return allocate(pointer, bytes, 'd'); }
cudaError cudaFreeAsync(void *pointer, void *stream) { return release(pointer, "dm"); }

// Managed and pinned memory are device memory at an address that is the host's too.
static cudaError allocate_shared(void **pointer, size_t bytes, char kind)
{
    cudaError error = connect_to_simtlab();
    if (error == OK && memory_base != (char *)device.heap) {
        fprintf(stderr, "simtlab: managed and pinned memory need device addresses that are free in this process\n");
        error = NOT_SUPPORTED;
    }
    return error ? done(error) : allocate(pointer, bytes, kind);
}

cudaError cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
    return bytes == 0 ? done(INVALID_VALUE) : allocate_shared(pointer, bytes, 'm');
}

cudaError cudaMallocHost(void **pointer, size_t bytes) { return allocate_shared(pointer, bytes, 'p'); }
cudaError cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) { return allocate_shared(pointer, bytes, 'p'); }
cudaError cudaFreeHost(void *pointer) { return release(pointer, "p"); }

cudaError cudaHostGetFlags(unsigned *flags, void *host)
{
    *flags = 2;  // mapped
    return done(check_range(host, 1));
}

typedef struct { int type, device; void *device_pointer, *host_pointer; long reserved[8]; } PointerAttributes;

cudaError cudaPointerGetAttributes(PointerAttributes *attributes, const void *pointer)
{
    Block block;
    cudaError error = connect_to_simtlab();
    int there = error == OK && find_block((uint64_t)pointer, &block);
    int type = !there ? 0 : block.kind == 'm' ? 3 : block.kind == 'p' ? 1 : 2;
    attributes->type = type;
    attributes->device = type ? 0 : -2;
    attributes->device_pointer = there ? (void *)pointer : NULL;
    attributes->host_pointer = type == 1 || type == 3 ? (void *)pointer : NULL;
    return done(error);
}

// Copies ------------------------------------------------------------------------------------------------------------------

// Where this process has what a pointer of a copy's side means, if so many bytes are there.
static cudaError side(const void *pointer, size_t bytes, int on_device, char **where)
{
    *where = (char *)pointer;
    if (!is_device(pointer))
        return on_device && bytes > 0 ? INVALID_VALUE : OK;
    *where = host_address((uint64_t)pointer);
    return bytes > 0 ? check_range(pointer, bytes) : OK;
}

// Whether a page of device memory has been touched by anybody.
static int is_touched(const char *where)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char there = 1;
    mincore((void *)((uint64_t)where & ~(uint64_t)(page - 1)), page, &there);
    return there & 1;
}

// Host memory to device memory that was never touched, judging by its ends: written to the file, new pages need not be filled with zeros
// first. Gives how much was written.
static size_t write_new_pages(const char *target, const char *source, size_t bytes)
{
    size_t written = 0;
    off_t place = target - memory_base;
    if (bytes < LARGE || (is_touched(target) && is_touched(target + bytes - 1)))
        return 0;
    while (written < bytes) {
        ssize_t more = pwrite(memory_file, source + written, bytes - written, place + (off_t)written);
        if (more <= 0)
            break;
        written += (size_t)more;
    }
    return written;
}

cudaError copy(void *to, const void *from, size_t bytes, int kind)
{
    char *target, *source;
    cudaError error = connect_to_simtlab();
    if (error == OK)
        error = sticky_error();
    if (error == OK && (kind < 0 || kind > 4))
        error = INVALID_DIRECTION;
    if (error == OK && bytes > 0 && (to == NULL || from == NULL))
        error = INVALID_VALUE;
    if (error == OK)
        error = side(to, bytes, kind == 1 || kind == 3, &target);
    if (error == OK)
        error = side(from, bytes, kind == 2 || kind == 3, &source);
    if (error == OK && bytes > 0) {
        size_t written = is_device(to) && !is_device(from) ? write_new_pages(target, source, bytes) : 0;
        memmove(target + written, source + written, bytes - written);
    }
    return done(error);
}

cudaError copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width, size_t rows, int kind)
{
    if (rows > 1 && (width > to_pitch || width > from_pitch))  // of one row the pitch does not count
        return done(INVALID_PITCH);
    cudaError error = OK;
    for (size_t row = 0; row < rows && error == OK; row++)
        error = copy(to + row * to_pitch, from + row * from_pitch, width, kind);
    return error;
}

cudaError cudaMemcpy(void *to, const void *from, size_t bytes, int kind) { return copy(to, from, bytes, kind); }
cudaError cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) { return copy(to, from, bytes, kind); }
cudaError cudaMemcpyPeer(void *to, int one, const void *from, int other, size_t bytes) { return copy(to, from, bytes, 3); }
cudaError cudaMemcpyPeerAsync(void *to, int one, const void *from, int other, size_t bytes, void *s) { return copy(to, from, bytes, 3); }

cudaError cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t rows, int kind)
{
    return copy_rows(to, tp, from, fp, width, rows, kind);
}

cudaError cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t width, size_t rows, int kind, void *stream)
{
    return copy_rows(to, tp, from, fp, width, rows, kind);
}

cudaError cudaMemset(void *pointer, int value, size_t bytes)
{
    char *where;
    cudaError error = connect_to_simtlab();
    if (error == OK)
        error = side(pointer, bytes, 1, &where);
    if (error == OK)
        memset(where, value, bytes);
    return done(error);
}

cudaError cudaMemsetAsync(void *pointer, int value, size_t bytes, void *stream) { return cudaMemset(pointer, value, bytes); }

cudaError cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t rows)
{
    cudaError error = OK;
    for (size_t row = 0; row < rows && error == OK; row++)
        error = cudaMemset((char *)pointer + row * pitch, value, width);
    return error;
}

cudaError cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t rows, void *stream)
{
    return cudaMemset2D(pointer, pitch, value, width, rows);
}

cudaError cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t rows)
{
    *pitch = (width + 511) / 512 * 512;
    return allocate(pointer, *pitch * rows, 'd');
}

typedef struct { size_t width, height, depth; } Extent;
typedef struct { void *pointer; size_t pitch, width, height; } Pitched;

cudaError cudaMalloc3D(Pitched *pitched, Extent extent)
{
    size_t pitch = (extent.width + 511) / 512 * 512;
    pitched->pitch = pitch, pitched->width = extent.width, pitched->height = extent.height;
    return allocate(&pitched->pointer, pitch * extent.height * extent.depth, 'd');
}

cudaError cudaMemset3D(Pitched pitched, int value, Extent extent)
{
    cudaError error = OK;
    for (size_t slice = 0; slice < extent.depth && error == OK; slice++)
        error = cudaMemset2D((char *)pitched.pointer + slice * pitched.height * pitched.pitch, pitched.pitch, value, extent.width,
                             extent.height);
    return error;
}

// Symbols -----------------------------------------------------------------------------------------------------------------

static cudaError symbol(const void *host, size_t bytes, size_t offset, uint64_t *address)
{
    size_t size;
    cudaError error = find_variable(host, address, &size);
    if (error == OK && (offset > size || bytes > size - offset))
        error = INVALID_VALUE;
    *address += offset;
    return done(error);
}

cudaError cudaMemcpyToSymbol(const void *to, const void *from, size_t bytes, size_t offset, int kind)
{
    uint64_t address;
    cudaError error = symbol(to, bytes, offset, &address);
    return error ? error : copy((void *)address, from, bytes, kind);
}

cudaError cudaMemcpyFromSymbol(void *to, const void *from, size_t bytes, size_t offset, int kind)
{
    uint64_t address;
    cudaError error = symbol(from, bytes, offset, &address);
    return error ? error : copy(to, (void *)address, bytes, kind);
}

cudaError cudaMemcpyToSymbolAsync(const void *to, const void *from, size_t bytes, size_t offset, int kind, void *stream)
{
    return cudaMemcpyToSymbol(to, from, bytes, offset, kind);
}

cudaError cudaMemcpyFromSymbolAsync(void *to, const void *from, size_t bytes, size_t offset, int kind, void *stream)
{
    return cudaMemcpyFromSymbol(to, from, bytes, offset, kind);
}

cudaError cudaGetSymbolAddress(void **pointer, const void *host) { return symbol(host, 0, 0, (uint64_t *)pointer); }

cudaError cudaGetSymbolSize(size_t *bytes, const void *host)
{
    uint64_t address;
    return done(find_variable(host, &address, bytes));
}

cudaError cudaMemGetInfo(size_t *left, size_t *total)
{
    cudaError error = connect_to_simtlab();
    size_t used = 0;
    for (size_t k = 0; k < n_blocks; k++)
        used += blocks[k].bytes;
    *total = device.total_bytes;
    *left = device.total_bytes - used;
    return done(error);
}
