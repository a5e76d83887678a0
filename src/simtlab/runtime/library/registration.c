// What nvcc's start-up code registers: fat binaries, kernels, variables. A module is loaded when something of it is first used.
#include "simtlab_cuda.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void note_variable(uint64_t address, size_t bytes);

typedef struct Module {
    const void *image;
    uint64_t number;
    int loaded;
    cudaError error;
} Module;

typedef struct Kernel {
    const void *host;
    const char *name;
    Module *module;
    Function *function;
    struct Kernel *next;
} Kernel;

typedef struct Global {
    const void *host;
    const char *name;
    Module *module;
    uint64_t address;
    size_t bytes;
    void **managed;  // where the host keeps a managed variable's address
    struct Global *next;
} Global;

static Kernel *kernels;
static Global *globals;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// A fat binary: a header of its own length at byte 6 and, at byte 8, the length of what follows.
static size_t image_bytes(const unsigned char *image)
{
    uint32_t magic;
    memcpy(&magic, image, 4);
    if (magic == 0xBA55ED50u) {
        uint16_t header;
        uint64_t rest;
        memcpy(&header, image + 6, 2);
        memcpy(&rest, image + 8, 8);
        return header + rest;
    }
    return strlen((const char *)image) + 1;  // PTX
}

cudaError load_image(const void *image, uint64_t *module)
{
    Request request = {.what = MODULE, .bytes = (uint32_t)image_bytes(image)};
    Answer answer;
    cudaError error = ask(&request, image, &answer, NULL, 0);
    *module = answer.value[0];
    return error;
}

cudaError load_function(uint64_t module, const char *name, Function **function)
{
    Request request = {.what = FUNCTION, .bytes = (uint32_t)strlen(name), .given = {module}};
    Answer answer;
    Function *made = calloc(1, sizeof *made);
    cudaError error = ask(&request, name, &answer, made, sizeof *made);
    if (error == OK)
        *function = made;
    else
        free(made);
    return error;
}

static cudaError load(Module *module)
{
    if (!module->loaded) {
        module->error = load_image(module->image, &module->number);
        module->loaded = 1;
    }
    return module->error;
}

static cudaError place(Global *global)
{
    if (global->address != 0)
        return OK;
    cudaError error = load(global->module);
    if (error != OK)
        return error;
    Request request = {.what = VARIABLE, .bytes = (uint32_t)strlen(global->name), .given = {global->module->number}};
    Answer answer;
    error = ask(&request, global->name, &answer, NULL, 0);
    if (error != OK)
        return error;
    global->address = answer.value[0];
    note_variable(global->address, global->bytes);
    if (global->managed != NULL)
        *global->managed = (void *)global->address;
    return OK;
}

cudaError find_function(const void *host, Function **function)
{
    cudaError error = INVALID_FUNCTION;
    pthread_mutex_lock(&lock);
    for (Kernel *kernel = kernels; kernel != NULL; kernel = kernel->next)
        if (kernel->host == host || kernel == host) {
            error = OK;
            if (kernel->function == NULL) {
                error = load(kernel->module);
                if (error == OK)
                    error = load_function(kernel->module->number, kernel->name, &kernel->function);
            }
            *function = kernel->function;
            break;
        }
    pthread_mutex_unlock(&lock);
    return done(error);
}

cudaError find_variable(const void *host, uint64_t *address, size_t *bytes)
{
    cudaError error = INVALID_SYMBOL;
    *address = 0;
    pthread_mutex_lock(&lock);
    Global *global = globals;
    while (global != NULL && global->host != host)
        global = global->next;
    if (global == NULL && host != NULL)  // before CUDA 5 a symbol could be a string with its name
        for (global = globals; global != NULL && strcmp(global->name, host) != 0;)
            global = global->next;
    if (global != NULL) {
        error = place(global);
        *address = global->address;
        *bytes = global->bytes;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void forget_modules(void)
{
    for (Kernel *kernel = kernels; kernel != NULL; kernel = kernel->next) {
        free(kernel->function);
        kernel->function = NULL;
        kernel->module->loaded = 0;
    }
    for (Global *global = globals; global != NULL; global = global->next) {
        global->address = 0;
        global->module->loaded = 0;
    }
}

// What nvcc's code calls ---------------------------------------------------------------------------------------------------

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct { int magic, version; const void *image; void *file; } *given = wrapper;
    Module *module = calloc(1, sizeof *module);
    module->image = given->image;
    return (void **)module;
}

void __cudaRegisterFatBinaryEnd(void **module) {}
void __cudaUnregisterFatBinary(void **module) {}

char __cudaInitModule(void **module)
{
    for (Global *global = globals; global != NULL; global = global->next)
        if (global->managed != NULL && global->module == (Module *)module)
            place(global);
    return 1;
}

void __cudaRegisterFunction(void **module, const char *host, char *device_name, const char *name, int limit, void *tid, void *bid,
                            void *block, void *grid, int *warp_size)
{
    Kernel *kernel = calloc(1, sizeof *kernel);
    kernel->host = host, kernel->name = device_name, kernel->module = (Module *)module, kernel->next = kernels;
    kernels = kernel;
}

static void register_variable(void **module, const void *host, void **managed, const char *name, size_t bytes)
{
    Global *global = calloc(1, sizeof *global);
    global->host = host, global->managed = managed, global->name = name, global->bytes = bytes;
    global->module = (Module *)module, global->next = globals;
    globals = global;
}

void __cudaRegisterVar(void **module, char *host, char *device_name, const char *name, int external, size_t bytes, int constant,
                       int global)
{
    register_variable(module, host, NULL, device_name, bytes);
}

void __cudaRegisterManagedVar(void **module, void **host, char *device_name, const char *name, int external, size_t bytes,
                              int constant, int global)
{
    register_variable(module, host, host, device_name, bytes);
    place(globals);
}

void __cudaRegisterTexture(void **module, const void *host, const void **address, const char *name, int dimensions, int normalised,
                           int external)
{
    unsupported("a texture reference");
}

void __cudaRegisterSurface(void **module, const void *host, const void **address, const char *name, int dimensions, int external)
{
    unsupported("a surface reference");
}

cudaError __cudaGetKernel(void **kernel, const void *host)
{
    for (Kernel *one = kernels; one != NULL; one = one->next)
        if (one->host == host) {
            *kernel = one;
            return OK;
        }
    return done(INVALID_FUNCTION);
}

cudaError cudaGetKernel(void **kernel, const void *host) { return __cudaGetKernel(kernel, host); }
