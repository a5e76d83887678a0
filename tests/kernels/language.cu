// What CUDA C++ kernels are made of: templates, structures, variables, pointers, calls, switches, inline assembly.
#define EXTERN extern "C" __global__

template <typename T, int N> __global__ void scale(T *values, T by, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * N;
    for (int k = 0; k < N; k++)
        if (i + k < n) values[i + k] *= by;
}

namespace deep {
template <typename T> __global__ void negate(T *values, int n)
{
    int i = threadIdx.x;
    if (i < n) values[i] = -values[i];
}
}

struct Polynomial {
    char degree;
    double scale;
    float coefficient[5];
    short shift[3];
};

// The coefficients are indexed dynamically, which takes the parameter's address.
EXTERN void evaluate(Polynomial p, const float *x, double *y, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (int k = p.degree; k >= 0; k--) sum = sum * x[i] + p.coefficient[k];
    y[i] = sum * p.scale + p.shift[i % 3];
}

struct Small { unsigned char a; unsigned short b; };
EXTERN void mixed_parameters(signed char c, short s, Small small, long long l, bool flag, double d, float f, unsigned char u, double *out)
{
    double values[] = {(double)c, (double)s, (double)small.a, (double)small.b, (double)l, flag ? 1.0 : 0.0, d, f, (double)u};
    for (int k = threadIdx.x; k < 9; k += blockDim.x) out[k] = values[k];
}

__constant__ float lut[16];
__constant__ int2 pairs[2] = {{3, 4}, {5, 6}};
__device__ int counter = 41;
__device__ int table[4] = {10, 20, 30, 40};
__device__ int *into_table = &table[2];
__device__ int *const *pointer_to_pointer = &into_table;
__device__ double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ const char *words[] = {"warp", "block", "grid"};
__device__ float uninitialised[7];

EXTERN void look_up(const int *index, float *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = lut[index[i]] + pairs[i & 1].x * 100 + pairs[i & 1].y;
}

EXTERN void variables(int *out, char *letters)
{
    int i = threadIdx.x;
    if (i == 0) {
        counter += 1;
        out[0] = counter;
        out[1] = *into_table;
        out[2] = **pointer_to_pointer;
        out[3] = (int)matrix[1][2];
        into_table = &table[3];
        out[4] = *into_table;
        uninitialised[6] = 1.5f;
    }
    if (i < 3) letters[i] = words[i][i];
}

// Recursion -------------------------------------------------------------------------------------------------------------

__device__ __noinline__ unsigned long long factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(int n) { return n == 0 ? false : is_even(n - 1); }

EXTERN void recursion(unsigned long long *f, int *fib, int *ack, int *even)
{
    int i = threadIdx.x;
    f[i] = factorial(i % 21);
    fib[i] = fibonacci(i % 13);
    ack[i] = ackermann(i % 3, i % 4);
    even[i] = is_even(i);
}

// A tree walked by recursion with an array on the stack of every level.
__device__ __noinline__ int walk(const int *tree, int node, int n, int *trail, int depth)
{
    int here[3] = {node, depth, tree[node]};
    trail[depth] = here[depth % 3];
    int best = here[2];
    if (2 * node + 1 < n) best += max(walk(tree, 2 * node + 1, n, trail, depth + 1), 2 * node + 2 < n ? walk(tree, 2 * node + 2, n, trail, depth + 1) : 0);
    return best;
}

EXTERN void heaviest_path(const int *tree, int n, int *out)
{
    int trail[12];
    out[threadIdx.x] = walk(tree, threadIdx.x, n, trail, 0) * 1000 + trail[1] % 1000;
}

// Function pointers -----------------------------------------------------------------------------------------------------

typedef float (*Operation)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float subtract(float a, float b) { return a - b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ float choose(float a, float b) { return a > b ? a : b; }
__device__ Operation operations[4] = {add, subtract, multiply, choose};

EXTERN void apply_each(const int *which, float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = operations[which[i]](a[i], b[i]);
}

EXTERN void call_nonsense(Operation f, float *out) { out[threadIdx.x] = f(1, 2); }

struct Shape { __device__ virtual float area() const = 0; };
struct Square : Shape { float side; __device__ Square(float s) : side(s) {} __device__ float area() const override { return side * side; } };
struct Circle : Shape { float r; __device__ Circle(float s) : r(s) {} __device__ float area() const override { return 3.0f * r * r; } };

EXTERN void virtual_calls(float *out)
{
    Square square(threadIdx.x);
    Circle circle(threadIdx.x);
    const Shape *shape = threadIdx.x % 3 ? (const Shape *)&square : (const Shape *)&circle;
    out[threadIdx.x] = shape->area();
}

__device__ __noinline__ Polynomial shifted(Polynomial p, int by)
{
    for (int k = 0; k < 5; k++) p.coefficient[k] += by;
    p.degree = by;
    return p;
}

EXTERN void structures_by_value(Polynomial p, float *out)
{
    Polynomial q = shifted(p, threadIdx.x);
    out[threadIdx.x] = q.coefficient[threadIdx.x % 5] + q.degree * 1000 + p.degree;
}

// A switch-heavy machine: each thread runs a program of its own. --------------------------------------------------------

EXTERN void interpret(const unsigned char *programs, int length, int *results, int steps)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *code = programs + t * length;
    int a = t, b = 1, at = 0;
    for (int s = 0; s < steps; s++) {
        switch (code[at] % 12) {
        case 0: a += b; break;
        case 1: a -= b; break;
        case 2: a *= 3; break;
        case 3: b = a & 7; break;
        case 4: b ^= a; break;
        case 5: a = a << 1 | (unsigned)a >> 31; break;
        case 6: if (a & 1) at += 1; break;
        case 7: { int kept = a; a = b; b = kept; break; }
        case 8: a = ~a; // and goes on
        case 9: b += 5; break;
        case 10: for (int k = 0; k < (a & 3); k++) b += k; break;
        default: a ^= s; continue;
        }
        at = (at + 1) % length;
    }
    results[2 * t] = a;
    results[2 * t + 1] = b;
}

// Inline assembly -------------------------------------------------------------------------------------------------------

EXTERN void add_128(const uint4 *a, const uint4 *b, uint4 *sum, uint4 *difference)
{
    int i = threadIdx.x;
    uint4 x = a[i], y = b[i], s, d;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
        : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\tsubc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
        : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
        : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    sum[i] = s;
    difference[i] = d;
}

EXTERN void predicated_assembly(const int *in, int *out)
{
    int i = threadIdx.x, result;
    asm("{\n\t.reg .pred p, q;\n\tsetp.gt.s32 p|q, %1, 10;\n\tmov.s32 %0, 5;\n\t@p add.s32 %0, %1, 100;\n\t"
        "@q sub.s32 %0, %0, %1;\n\t}" : "=r"(result) : "r"(in[i]));
    out[i] = result;
}

EXTERN void watch_the_clock(long long *taken, unsigned *low)
{
    long long before = clock64();
    unsigned c = clock();
    int spin = 0;
    while (clock64() - before < 10000) spin++;
    taken[threadIdx.x] = clock64() - before;
    low[threadIdx.x] = clock() - c;
    if (spin < 0) taken[0] = -1;
}
