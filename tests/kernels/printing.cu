// What kernels print.

extern "C" __global__ void formats(const float *pointer)
{
    printf("%d|%5d|%-5d|%05d|%+d|%i\n", -42, 42, 42, 42, 42, 7);
    printf("%u|%x|%X|%#x|%o|%#o\n", 3000000000u, 255, 255, 255, 8, 8);
    printf("%lld|%llu|%ld|%llx\n", -1234567890123LL, 18446744073709551615ULL, -5L, 0xabcdef0123LL);
    printf("%f|%.2f|%8.3f|%e|%g|%g|%G\n", 3.25f, 2.0 / 3, 1.5, 12345.678, 1e-10, 100000.0, 1e20);
    printf("%c%c%c|%s|%8s|%-6s|%.2s\n", 'a', 98, 'c', "text", "right", "left", "cut");
    printf("%p|%p|100%%|%hd|%s\n", pointer, (void *)0, 70000, (const char *)0);
    printf("%f|%f|%f|%a|%f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0, 1.5, -0.0);
    printf("no arguments\n");
}

// Formats that an H200 does not know, taken as C has them.
extern "C" __global__ void more_formats()
{
    printf("%*d|%.*f|%-*d|%hhu|%zu|%.*f\n", 6, 42, 1, 3.14159, 4, 7, 300, sizeof(double), -1, 2.5);
}

extern "C" __global__ void in_order(int *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2) counts[i] = printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
    else counts[i] = printf("even %d\n", i);
    __syncthreads();
    if (threadIdx.x == 0) printf("block %d ends\n", blockIdx.x);
}

__device__ char message[16] = "in global";

extern "C" __global__ void strings_from_everywhere()
{
    __shared__ char shared[12];
    char local[8];
    for (int k = 0; k < 5; k++) shared[k] = "shrd"[k];
    for (int k = 0; k < 6; k++) local[k] = "local"[k];
    printf("%s, %s, %s, %s\n", message, shared, local, (threadIdx.x & 1) ? "odd" : "even");
}
