// Arrays, textures and surfaces. An array is device memory, row after row; the simtlab process knows textures over it.
#include "simtlab_cuda.h"
#include <stdlib.h>
#include <string.h>

typedef struct { int x, y, z, w, kind; } Channels;
typedef struct { size_t width, height, depth; } Extent;
typedef struct { size_t x, y, z; } Position;
typedef struct { void *pointer; size_t pitch, width, height; } Pitched;

typedef struct {
    unsigned magic, flags;
    uint64_t address;
    Channels channels;
    Extent extent;  // in texels; 0 where it has no such axis
    size_t texel, pitch;
} Array;

// A texture or surface as TEXTURE and SURFACE are asked for it; in the order of session.py.
typedef struct {
    uint64_t address, width, height, depth, pitch;
    int32_t kind, bits, channels, is_linear, flags, filter, mode[3], normalised, as_float, reserved;
} Image;

enum { ARRAY_MAGIC = 0xa66a7000u, LAYERED = 1, CUBE = 4, OF_ARRAY = 0, OF_LINEAR = 2, OF_PITCHED = 3 };
cudaError cudaMalloc(void **pointer, size_t bytes);
cudaError cudaFree(void *pointer);
cudaError copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width, size_t rows, int kind);

Channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return (Channels){x, y, z, w, kind}; }

static int count_of(Channels channels)
{
    return (channels.x > 0) + (channels.y > 0) + (channels.z > 0) + (channels.w > 0);
}

static int is_array(const Array *array)
{
    return array != NULL && array->magic == ARRAY_MAGIC;
}

cudaError cudaMalloc3DArray(Array **array, const Channels *channels, Extent extent, unsigned flags)
{
    int parts = count_of(*channels);
    if (parts == 0 || parts == 3 || extent.width == 0)
        return done(INVALID_VALUE);
    Array *made = calloc(1, sizeof *made);
    made->magic = ARRAY_MAGIC, made->flags = flags, made->channels = *channels, made->extent = extent;
    made->texel = (size_t)(channels->x * parts) / 8, made->pitch = extent.width * made->texel;
    size_t rows = (extent.height ? extent.height : 1) * (extent.depth ? extent.depth : 1);
    void *memory;
    cudaError error = cudaMalloc(&memory, made->pitch * rows);
    if (error != OK) {
        free(made);
        return error;
    }
    made->address = (uint64_t)memory;
    *array = made;
    return OK;
}

cudaError cudaMallocArray(Array **array, const Channels *channels, size_t width, size_t height, unsigned flags)
{
    return cudaMalloc3DArray(array, channels, (Extent){width, height, 0}, flags);
}

cudaError cudaFreeArray(Array *array)
{
    if (array == NULL)
        return OK;
    if (!is_array(array))
        return done(INVALID_HANDLE);
    cudaError error = cudaFree((void *)array->address);
    array->magic = 0;
    free(array);
    return error;
}

cudaError cudaArrayGetInfo(Channels *channels, Extent *extent, unsigned *flags, Array *array)
{
    if (!is_array(array))
        return done(INVALID_HANDLE);
    if (channels != NULL)
        *channels = array->channels;
    if (extent != NULL)
        *extent = array->extent;
    if (flags != NULL)
        *flags = array->flags;
    return OK;
}

cudaError cudaGetChannelDesc(Channels *channels, const Array *array)
{
    return cudaArrayGetInfo(channels, NULL, NULL, (Array *)array);
}

// Copies ------------------------------------------------------------------------------------------------------------------

// Where in an array a row begins, if `rows` of them, each `bytes` from `x` on, are in it.
static cudaError place_in(const Array *array, size_t x, size_t y, size_t bytes, size_t rows, char **where)
{
    if (!is_array(array))
        return INVALID_HANDLE;
    size_t height = (array->extent.height ? array->extent.height : 1) * (array->extent.depth ? array->extent.depth : 1);
    if (x + bytes > array->pitch || y + rows > height)
        return INVALID_VALUE;
    *where = (char *)array->address + y * array->pitch + x;
    return OK;
}

cudaError cudaMemcpy2DToArray(Array *array, size_t x, size_t y, const void *from, size_t pitch, size_t bytes, size_t rows, int kind)
{
    char *where;
    cudaError error = place_in(array, x, y, bytes, rows, &where);
    return error ? done(error) : copy_rows(where, array->pitch, from, pitch, bytes, rows, kind);
}

cudaError cudaMemcpy2DToArrayAsync(Array *array, size_t x, size_t y, const void *from, size_t pitch, size_t bytes, size_t rows,
                                   int kind, void *stream)
{
    return cudaMemcpy2DToArray(array, x, y, from, pitch, bytes, rows, kind);
}

cudaError cudaMemcpy2DFromArray(void *to, size_t pitch, const Array *array, size_t x, size_t y, size_t bytes, size_t rows, int kind)
{
    char *where;
    cudaError error = place_in(array, x, y, bytes, rows, &where);
    return error ? done(error) : copy_rows(to, pitch, where, array->pitch, bytes, rows, kind);
}

cudaError cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const Array *array, size_t x, size_t y, size_t bytes, size_t rows,
                                     int kind, void *stream)
{
    return cudaMemcpy2DFromArray(to, pitch, array, x, y, bytes, rows, kind);
}

cudaError cudaMemcpy2DArrayToArray(Array *to, size_t tx, size_t ty, const Array *from, size_t fx, size_t fy, size_t bytes, size_t rows,
                                   int kind)
{
    char *target, *source;
    cudaError error = place_in(to, tx, ty, bytes, rows, &target);
    if (error == OK)
        error = place_in(from, fx, fy, bytes, rows, &source);
    return error ? done(error) : copy_rows(target, to->pitch, source, from->pitch, bytes, rows, 3);
}

// Bytes in a row are bytes in an array, however many rows they fill.
cudaError cudaMemcpyToArray(Array *array, size_t x, size_t y, const void *from, size_t bytes, int kind)
{
    return is_array(array) ? copy((char *)array->address + y * array->pitch + x, from, bytes, kind) : done(INVALID_HANDLE);
}

cudaError cudaMemcpyFromArray(void *to, const Array *array, size_t x, size_t y, size_t bytes, int kind)
{
    return is_array(array) ? copy(to, (char *)array->address + y * array->pitch + x, bytes, kind) : done(INVALID_HANDLE);
}

cudaError cudaMemcpyToArrayAsync(Array *array, size_t x, size_t y, const void *from, size_t bytes, int kind, void *stream)
{
    return cudaMemcpyToArray(array, x, y, from, bytes, kind);
}

cudaError cudaMemcpyFromArrayAsync(void *to, const Array *array, size_t x, size_t y, size_t bytes, int kind, void *stream)
{
    return cudaMemcpyFromArray(to, array, x, y, bytes, kind);
}

typedef struct {
    Array *from_array;
    Position from_position;
    Pitched from;
    Array *to_array;
    Position to_position;
    Pitched to;
    Extent extent;
    int kind;
} Copy3D;

// One side of a copy: its first byte, and the bytes from row to row and from slice to slice. Positions in an array are in texels.
static void side_of(Array *array, Position position, Pitched pitched, char **first, size_t *row, size_t *slice)
{
    *row = array ? array->pitch : pitched.pitch;
    *slice = *row * (array ? array->extent.height : pitched.height);
    size_t x = array ? position.x * array->texel : position.x;
    *first = (array ? (char *)array->address : (char *)pitched.pointer) + position.z * *slice + position.y * *row + x;
}

cudaError cudaMemcpy3D(const Copy3D *given)
{
    char *to, *from;
    size_t to_row, to_slice, from_row, from_slice;
    if ((given->to_array && !is_array(given->to_array)) || (given->from_array && !is_array(given->from_array)))
        return done(INVALID_HANDLE);
    side_of(given->to_array, given->to_position, given->to, &to, &to_row, &to_slice);
    side_of(given->from_array, given->from_position, given->from, &from, &from_row, &from_slice);
    const Array *array = given->to_array ? given->to_array : given->from_array;
    size_t bytes = given->extent.width * (array ? array->texel : 1);
    cudaError error = OK;
    for (size_t z = 0; z < given->extent.depth && error == OK; z++)
        error = copy_rows(to + z * to_slice, to_row, from + z * from_slice, from_row, bytes, given->extent.height, given->kind);
    return error;
}

cudaError cudaMemcpy3DAsync(const Copy3D *given, void *stream) { return cudaMemcpy3D(given); }

// Objects -----------------------------------------------------------------------------------------------------------------

typedef struct {
    int type;
    union {
        Array *array;
        struct { void *pointer; Channels channels; size_t bytes; } linear;
        struct { void *pointer; Channels channels; size_t width, height, pitch; } pitched;
        int reserved[32];
    } of;
    unsigned flags;
} Resource;

typedef struct {
    int mode[3], filter, read_mode, srgb;
    float border[4];
    int normalised;
} Reading;

static cudaError image_of(const Resource *resource, Image *image)
{
    Channels channels;
    memset(image, 0, sizeof *image);
    if (resource->type == OF_ARRAY) {
        Array *array = resource->of.array;
        if (!is_array(array))
            return INVALID_HANDLE;
        channels = array->channels, image->address = array->address, image->pitch = array->pitch;
        image->width = array->extent.width, image->height = array->extent.height, image->depth = array->extent.depth;
        image->flags = (int32_t)array->flags;
    } else if (resource->type == OF_LINEAR) {
        channels = resource->of.linear.channels, image->address = (uint64_t)resource->of.linear.pointer, image->is_linear = 1;
        image->width = resource->of.linear.bytes / (size_t)(channels.x * count_of(channels) / 8);
    } else if (resource->type == OF_PITCHED) {
        channels = resource->of.pitched.channels, image->address = (uint64_t)resource->of.pitched.pointer;
        image->width = resource->of.pitched.width, image->height = resource->of.pitched.height;
        image->pitch = resource->of.pitched.pitch;
    } else {
        return unsupported("a texture over a mipmapped array");
    }
    image->kind = channels.kind, image->bits = channels.x, image->channels = count_of(channels);
    return OK;
}

static cudaError make(uint32_t what, uint64_t *object, const Image *image)
{
    Request request = {.what = what, .bytes = sizeof *image};
    Answer answer;
    cudaError error = ask(&request, image, &answer, NULL, 0);
    if (error == OK)
        *object = answer.value[0];
    return error;
}

cudaError cudaCreateTextureObject(uint64_t *object, const Resource *resource, const Reading *reading, const void *view)
{
    Image image;
    cudaError error = image_of(resource, &image);
    if (error != OK)
        return done(error);
    memcpy(image.mode, reading->mode, sizeof image.mode);
    image.filter = reading->filter, image.normalised = reading->normalised, image.as_float = reading->read_mode;
    return make(TEXTURE, object, &image);
}

cudaError cudaCreateSurfaceObject(uint64_t *object, const Resource *resource)
{
    Image image;
    cudaError error = image_of(resource, &image);
    return error ? done(error) : make(SURFACE, object, &image);
}

// No object, 0, may be destroyed.
cudaError cudaDestroyTextureObject(uint64_t object) { return object ? ask_for(NULL, DESTROY, object, 0, 0) : done(connect_to_simtlab()); }
cudaError cudaDestroySurfaceObject(uint64_t object) { return cudaDestroyTextureObject(object); }
