// Put before programs that have `texture<>` or `surface<>` references, which CUDA 12 and 13 have dropped. A reference is a texture object
// in constant memory: binding makes the object, and a fetch by the reference is a fetch by the object.
#pragma once
#if defined(__cplusplus) && defined(__CUDACC__)
#include <cuda_runtime.h>
#include <climits>

#pragma nv_diag_suppress 20091, 20092, 20093, 20094  // the host reads and writes its own copy of a reference


// What the host may set before it binds, and the object that the kernels use.
struct simtlab_reference {
    int normalized;
    cudaTextureFilterMode filterMode;
    cudaTextureAddressMode addressMode[3];
    mutable cudaChannelFormatDesc channelDesc;
    cudaTextureReadMode read_mode;
    mutable unsigned long long object;

    constexpr simtlab_reference(cudaChannelFormatDesc desc, cudaTextureReadMode mode)
        : normalized(0), filterMode(cudaFilterModePoint),
          addressMode{cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp}, channelDesc(desc), read_mode(mode), object(0) {}
};

// The channels of a texel's type, as cudaCreateChannelDesc gives them, but when the program is compiled.
template <class T> struct simtlab_channels {
    static constexpr cudaChannelFormatDesc desc() { return {0, 0, 0, 0, cudaChannelFormatKindNone}; }
};
#define SIMTLAB_CHANNELS(T, x, y, z, w, kind)                                                                                      \
    template <> struct simtlab_channels<T> {                                                                                       \
        static constexpr cudaChannelFormatDesc desc() { return {x, y, z, w, cudaChannelFormatKind##kind}; }                        \
    };
#define SIMTLAB_ALL_CHANNELS(one, T, bits, kind)                                                                                   \
    SIMTLAB_CHANNELS(one, bits, 0, 0, 0, kind) SIMTLAB_CHANNELS(T##1, bits, 0, 0, 0, kind)                                         \
    SIMTLAB_CHANNELS(T##2, bits, bits, 0, 0, kind) SIMTLAB_CHANNELS(T##4, bits, bits, bits, bits, kind)
SIMTLAB_ALL_CHANNELS(signed char, char, 8, Signed) SIMTLAB_ALL_CHANNELS(unsigned char, uchar, 8, Unsigned)
SIMTLAB_ALL_CHANNELS(short, short, 16, Signed) SIMTLAB_ALL_CHANNELS(unsigned short, ushort, 16, Unsigned)
SIMTLAB_ALL_CHANNELS(int, int, 32, Signed) SIMTLAB_ALL_CHANNELS(unsigned int, uint, 32, Unsigned)
SIMTLAB_ALL_CHANNELS(float, float, 32, Float)
SIMTLAB_CHANNELS(char, 8, 0, 0, 0, Signed)

template <class T, int dimensions = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct simtlab_texture : simtlab_reference {
    constexpr simtlab_texture() : simtlab_reference(simtlab_channels<T>::desc(), mode) {}
};

template <class T, int dimensions = cudaSurfaceType1D> struct simtlab_surface : simtlab_reference {
    constexpr simtlab_surface() : simtlab_reference(simtlab_channels<T>::desc(), cudaReadModeElementType) {}
};

// Binding -----------------------------------------------------------------------------------------------------------------

static inline cudaError_t simtlab_put(const simtlab_reference &reference, cudaError_t error)
{
    if (error != cudaSuccess)
        return error;
    size_t place = (const char *)&reference.object - (const char *)&reference;
    return cudaMemcpyToSymbol((const void *)&reference, &reference.object, sizeof reference.object, place);
}

static inline cudaError_t cudaUnbindTexture(const simtlab_reference *reference)
{
    if (reference->object != 0)
        cudaDestroyTextureObject(reference->object);
    reference->object = 0;
    return cudaSuccess;
}

static inline cudaError_t simtlab_bind(const simtlab_reference &reference, const cudaResourceDesc &resource, const cudaChannelFormatDesc &desc)
{
    cudaTextureDesc reading = {};
    for (int axis = 0; axis < 3; axis++)
        reading.addressMode[axis] = reference.addressMode[axis];
    reading.filterMode = reference.filterMode, reading.readMode = reference.read_mode;
    reading.normalizedCoords = reference.normalized;
    cudaUnbindTexture(&reference);
    reference.channelDesc = desc;
    return simtlab_put(reference, cudaCreateTextureObject(&reference.object, &resource, &reading, nullptr));
}

static inline cudaError_t cudaBindTexture(size_t *offset, const simtlab_reference *reference, const void *pointer,
                                          const cudaChannelFormatDesc *desc, size_t size = UINT_MAX)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<void *>(pointer), resource.res.linear.desc = *desc;
    resource.res.linear.sizeInBytes = size;
    if (offset != nullptr)
        *offset = 0;
    return simtlab_bind(*reference, resource, *desc);
}

static inline cudaError_t cudaBindTexture2D(size_t *offset, const simtlab_reference *reference, const void *pointer,
                                            const cudaChannelFormatDesc *desc, size_t width, size_t height, size_t pitch)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = const_cast<void *>(pointer), resource.res.pitch2D.desc = *desc;
    resource.res.pitch2D.width = width, resource.res.pitch2D.height = height, resource.res.pitch2D.pitchInBytes = pitch;
    if (offset != nullptr)
        *offset = 0;
    return simtlab_bind(*reference, resource, *desc);
}

static inline cudaError_t cudaBindTextureToArray(const simtlab_reference *reference, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc *desc)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    return simtlab_bind(*reference, resource, *desc);
}

static inline cudaError_t cudaBindSurfaceToArray(const simtlab_reference *reference, cudaArray_const_t array,
                                                 const cudaChannelFormatDesc *desc)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = const_cast<cudaArray_t>(array);
    if (reference->object != 0)
        cudaDestroySurfaceObject(reference->object);
    reference->object = 0, reference->channelDesc = *desc;
    return simtlab_put(*reference, cudaCreateSurfaceObject(&reference->object, &resource));
}

static inline cudaError_t cudaGetTextureReference(const simtlab_reference **reference, const void *symbol)
{
    *reference = static_cast<const simtlab_reference *>(symbol);
    return cudaSuccess;
}

static inline cudaError_t cudaGetSurfaceReference(const simtlab_reference **reference, const void *symbol)
{
    return cudaGetTextureReference(reference, symbol);
}

static inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const simtlab_reference *)
{
    *offset = 0;
    return cudaSuccess;
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTexture(size_t *offset, const simtlab_texture<T, d, m> &reference, const void *pointer,
                            const cudaChannelFormatDesc &desc, size_t size = UINT_MAX)
{
    return cudaBindTexture(offset, &reference, pointer, &desc, size);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTexture(size_t *offset, const simtlab_texture<T, d, m> &reference, const void *pointer, size_t size = UINT_MAX)
{
    return cudaBindTexture(offset, reference, pointer, cudaCreateChannelDesc<T>(), size);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTexture2D(size_t *offset, const simtlab_texture<T, d, m> &reference, const void *pointer,
                              const cudaChannelFormatDesc &desc, size_t width, size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, &reference, pointer, &desc, width, height, pitch);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTexture2D(size_t *offset, const simtlab_texture<T, d, m> &reference, const void *pointer, size_t width,
                              size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, reference, pointer, cudaCreateChannelDesc<T>(), width, height, pitch);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTextureToArray(const simtlab_texture<T, d, m> &reference, cudaArray_const_t array, const cudaChannelFormatDesc &desc)
{
    return cudaBindTextureToArray(&reference, array, &desc);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaBindTextureToArray(const simtlab_texture<T, d, m> &reference, cudaArray_const_t array)
{
    cudaChannelFormatDesc desc;
    cudaError_t error = cudaGetChannelDesc(&desc, array);
    return error != cudaSuccess ? error : cudaBindTextureToArray(&reference, array, &desc);
}

template <class T, int d>
cudaError_t cudaBindSurfaceToArray(const simtlab_surface<T, d> &reference, cudaArray_const_t array, const cudaChannelFormatDesc &desc)
{
    return cudaBindSurfaceToArray(&reference, array, &desc);
}

template <class T, int d> cudaError_t cudaBindSurfaceToArray(const simtlab_surface<T, d> &reference, cudaArray_const_t array)
{
    cudaChannelFormatDesc desc;
    cudaError_t error = cudaGetChannelDesc(&desc, array);
    return error != cudaSuccess ? error : cudaBindSurfaceToArray(&reference, array, &desc);
}

template <class T, int d, cudaTextureReadMode m> cudaError_t cudaUnbindTexture(const simtlab_texture<T, d, m> &reference)
{
    return cudaUnbindTexture(&reference);
}

template <class T, int d, cudaTextureReadMode m>
cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const simtlab_texture<T, d, m> &reference)
{
    return cudaGetTextureAlignmentOffset(offset, &reference);
}

// Fetching ----------------------------------------------------------------------------------------------------------------

template <class T, cudaTextureReadMode mode> struct simtlab_texel { typedef T type; };
#define SIMTLAB_AS_FLOAT(T, F) template <> struct simtlab_texel<T, cudaReadModeNormalizedFloat> { typedef F type; };
#define SIMTLAB_AS_FLOATS(T) SIMTLAB_AS_FLOAT(T##1, float1) SIMTLAB_AS_FLOAT(T##2, float2) SIMTLAB_AS_FLOAT(T##4, float4)
SIMTLAB_AS_FLOATS(char) SIMTLAB_AS_FLOATS(uchar) SIMTLAB_AS_FLOATS(short) SIMTLAB_AS_FLOATS(ushort)
SIMTLAB_AS_FLOAT(char, float) SIMTLAB_AS_FLOAT(signed char, float) SIMTLAB_AS_FLOAT(unsigned char, float)
SIMTLAB_AS_FLOAT(short, float) SIMTLAB_AS_FLOAT(unsigned short, float)

// A fetch by a reference of one kind: its name, the kind, its coordinates and their names.
#define SIMTLAB_FETCH(name, kind, coordinates, names)                                                                              \
    template <class T, cudaTextureReadMode m>                                                                                      \
    static __device__ __forceinline__ typename simtlab_texel<T, m>::type name(const simtlab_texture<T, kind, m> &reference,        \
                                                                              SIMTLAB_LIST coordinates)                            \
    {                                                                                                                              \
        return ::name<typename simtlab_texel<T, m>::type>(reference.object, SIMTLAB_LIST names);                                   \
    }
#define SIMTLAB_LIST(...) __VA_ARGS__

SIMTLAB_FETCH(tex1Dfetch, cudaTextureType1D, (int x), (x))
SIMTLAB_FETCH(tex1D, cudaTextureType1D, (float x), (x))
SIMTLAB_FETCH(tex2D, cudaTextureType2D, (float x, float y), (x, y))
SIMTLAB_FETCH(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
SIMTLAB_FETCH(tex1DLod, cudaTextureType1D, (float x, float level), (x, level))
SIMTLAB_FETCH(tex2DLod, cudaTextureType2D, (float x, float y, float level), (x, y, level))
SIMTLAB_FETCH(tex3DLod, cudaTextureType3D, (float x, float y, float z, float level), (x, y, z, level))
SIMTLAB_FETCH(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
SIMTLAB_FETCH(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer))
SIMTLAB_FETCH(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
SIMTLAB_FETCH(tex2Dgather, cudaTextureType2D, (float x, float y, int component = 0), (x, y, component))

// Reads and writes by a surface reference; a texel has the type that is asked for.
#define SIMTLAB_SURFACE(axes, coordinates, names)                                                                                  \
    template <class T, class S, int d>                                                                                             \
    static __device__ __forceinline__ T surf##axes##read(const simtlab_surface<S, d> &reference, SIMTLAB_LIST coordinates,         \
                                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                      \
    {                                                                                                                              \
        return ::surf##axes##read<T>(reference.object, SIMTLAB_LIST names, mode);                                                  \
    }                                                                                                                              \
    template <class T, class S, int d>                                                                                             \
    static __device__ __forceinline__ void surf##axes##read(T *texel, const simtlab_surface<S, d> &reference,                      \
                                                            SIMTLAB_LIST coordinates,                                              \
                                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                   \
    {                                                                                                                              \
        ::surf##axes##read(texel, reference.object, SIMTLAB_LIST names, mode);                                                     \
    }                                                                                                                              \
    template <class T, class S, int d>                                                                                             \
    static __device__ __forceinline__ void surf##axes##write(T texel, const simtlab_surface<S, d> &reference,                      \
                                                             SIMTLAB_LIST coordinates,                                             \
                                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                  \
    {                                                                                                                              \
        ::surf##axes##write(texel, reference.object, SIMTLAB_LIST names, mode);                                                    \
    }

SIMTLAB_SURFACE(1D, (int x), (x))
SIMTLAB_SURFACE(2D, (int x, int y), (x, y))
SIMTLAB_SURFACE(3D, (int x, int y, int z), (x, y, z))

#define textureReference simtlab_reference
#define surfaceReference simtlab_reference
#define texture __constant__ simtlab_texture
#define surface __constant__ simtlab_surface
#endif
