// Ray tracing: a thread follows the ray through its pixel, up to five mirrorings, and at each of them looks whether the light is in
// sight. The scene - spheres and level planes - and the camera are in constant memory; what each hit shines with is kept in local
// memory, until the last one is known.

#define MOST_OBJECTS 16
#define MIRRORINGS 5
#define FAR 10000.0f

struct Object {
    float3 centre;
    float radius;
    float colour[4];
    unsigned plane, unused; // a plane is level, through its centre
};

__constant__ float4 MView[3]; // the camera: directions ahead, up and aside, and in w its place
__constant__ Object cnode[MOST_OBJECTS];
__constant__ int numObj;

struct Ray {
    float3 from, along;
};

__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ float3 normalize(float3 a) { return rsqrtf(dot(a, a)) * a; }
__device__ float3 direction(float4 a) { return make_float3(a.x, a.y, a.z); }

// How far along the ray the object is; 0 if the ray misses it.
__device__ float hit(const Ray &ray, const Object &object, float3 centre)
{
    if (object.plane) {
        float slope = ray.along.y;
        float distance = fabsf(slope) < 0.0001f ? 0.0f : (centre.y - ray.from.y) / slope;
        return distance > 0.0f ? distance : 0.0f;
    }
    float3 way = centre - ray.from;
    float ahead = dot(way, ray.along), square = dot(way, way), r2 = object.radius * object.radius;
    if (ahead < 0.0f && square > r2)
        return 0.0f;
    float aside = square - ahead * ahead;
    if (aside > r2)
        return 0.0f;
    float half = sqrtf(r2 - aside);
    return square > r2 ? ahead - half : ahead + half;
}

__device__ float3 placed(const Object &object, float shift)
{
    return make_float3(object.centre.x + shift, object.centre.y, object.centre.z);
}

__device__ bool lit(float3 point, float3 to_light, float3 light, float shift)
{
    Ray ray = {point + 0.0001f * to_light, to_light};
    float3 way = light - point;
    float distance = dot(way, way);
    bool free = true;
#pragma unroll 1
    for (int k = 0; k < numObj && free; k++) {
        float t = hit(ray, cnode[k], placed(cnode[k], shift));
        free = !(t > 0.0f && t * t < distance);
    }
    return free;
}

__device__ unsigned level(float value) { return unsigned(__saturatef(value) * 255); }

extern "C" __global__ void render(unsigned *result, unsigned width, unsigned height, float shift, float focus)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const float3 light = make_float3(10.0f, 10.0f, 10.0f);
    float4 shine[MIRRORINGS];
    float step = 2.0f / float(min(width, height));
    Ray ray;
    ray.from = make_float3(MView[0].w, MView[1].w, MView[2].w);
    ray.along = normalize(focus * direction(MView[0]) + ((float(x) - float(width) * 0.5f) * step) * direction(MView[2])
                          + ((float(y) - float(height) * 0.5f) * step) * direction(MView[1]));
    int hits = 0;
#pragma unroll 1
    for (int k = 0; k < MIRRORINGS; k++)
        shine[k] = make_float4(0.0f, 0.0f, 0.0f, 1.0f);
#pragma unroll 1
    for (int k = 0; k < MIRRORINGS && hits == k; k++) {
        float nearest = FAR;
        int object = 0;
#pragma unroll 1
        for (int j = 0; j < numObj; j++) {
            float t = hit(ray, cnode[j], placed(cnode[j], shift));
            if (t > 0.0f && t < nearest) {
                nearest = t;
                object = j;
            }
        }
        if (nearest < FAR) {
            hits++;
            const float *colour = cnode[object].colour;
            float3 point = ray.from + nearest * ray.along;
            float3 to_light = normalize(light - point), to_eye = normalize(ray.from - point);
            float3 normal = cnode[object].plane ? make_float3(0.0f, 1.0f, 0.0f) : normalize(point - placed(cnode[object], shift));
            float3 facing = dot(to_eye, normal) < 0.0f ? -1.0f * normal : normal;
            float share = 0.05f, mirrored = 0.0f;
            if (dot(facing, to_light) > 0.0f && lit(point, to_light, light, shift)) {
                share += 0.3f * fminf(1.0f, dot(facing, to_light));
                mirrored = 0.8f * powf(__saturatef(dot(facing, normalize(to_light + to_eye))), 50.0f);
            }
            shine[k] = make_float4(share * colour[0] + mirrored, share * colour[1] + mirrored, share * colour[2] + mirrored,
                                   share * colour[3]);
            ray.along = normalize(2.0f * dot(normal, to_eye) * normal - to_eye);
            ray.from = point + 0.0001f * ray.along;
        }
    }
#pragma unroll 1
    for (int k = hits - 1; k > 0; k--) {
        shine[k - 1].x += 0.8f * shine[k].x;
        shine[k - 1].y += 0.8f * shine[k].y;
        shine[k - 1].z += 0.8f * shine[k].z;
        shine[k - 1].w += 0.8f * shine[k].w;
    }
    float4 seen = shine[0];
    result[x + y * width] = level(seen.w) << 24 | level(seen.z) << 16 | level(seen.y) << 8 | level(seen.x);
}
