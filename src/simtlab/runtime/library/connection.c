// The way to the simtlab process: one socket, one message at a time.
#define _GNU_SOURCE
#include "simtlab_cuda.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

Device device;
static int connection = -1;
static pid_t owner;
static cudaError sticky;                // what leaves a context of no use: a fault in a kernel
static _Thread_local cudaError latest;  // of this thread
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
extern char *memory_base;
extern int memory_file;
enum { AWAKE_NS = 300000 };

// A kernel that failed: nothing on the device can be trusted afterwards.
static int leaves_no_context(cudaError error)
{
    return error == ILLEGAL_ADDRESS || error == LAUNCH_TIMEOUT || error == ASSERTION || (error >= ILLEGAL_INSTRUCTION && error <= LAUNCH_FAILURE);
}

static void lost(void)
{
    fprintf(stderr, "simtlab: the process that holds the GPU is gone\n");
    _exit(70);
}

static void put(const void *bytes, size_t count)
{
    const char *p = bytes;
    while (count > 0) {
        ssize_t sent = send(connection, p, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            lost();
        p += sent;
        count -= (size_t)sent;
    }
}

static void get(void *bytes, size_t count)
{
    char *p = bytes;
    while (count > 0) {
        ssize_t got = recv(connection, p, count, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            lost();
        p += got;
        count -= (size_t)got;
    }
}

// Most answers come so soon that to fall asleep and be woken would take as long again. With one core it would only keep others waiting.
static void wait_awake(void)
{
    static long cores;
    if (cores == 0)
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    char byte;
    while (cores > 1 && recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec > AWAKE_NS)
            return;
    }
}

static void exchange(Request *request, const void *bytes, Answer *answer, void *room, size_t room_bytes)
{
    char both[4096];  // one message where it is short
    if (request->bytes <= sizeof both - sizeof *request) {
        memcpy(both, request, sizeof *request);
        if (request->bytes > 0)
            memcpy(both + sizeof *request, bytes, request->bytes);
        put(both, sizeof *request + request->bytes);
    } else {
        put(request, sizeof *request);
        put(bytes, request->bytes);
    }
    wait_awake();
    get(answer, sizeof *answer);
    if (answer->bytes <= room_bytes) {
        get(room, answer->bytes);
        return;
    }
    char *rest = malloc(answer->bytes);  // more than was asked for: what a kernel printed
    get(rest, answer->bytes);
    fwrite(rest, 1, answer->bytes, stdout);
    free(rest);
}

// The simtlab process gives the file that device memory is in; it is mapped where kernels see it, if nothing is there yet.
static cudaError map_memory(void)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        return NOT_INITIALISED;
    int file;
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    void *wanted = (void *)device.heap;
    memory_base = mmap(wanted, device.heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if (memory_base != wanted) {
        if (memory_base != MAP_FAILED)
            munmap(memory_base, device.heap_bytes);
        memory_base = mmap(NULL, device.heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    }
    memory_file = file;
    return memory_base == MAP_FAILED ? OUT_OF_MEMORY : OK;
}

static cudaError open_connection(void)
{
    const char *where = getenv("SIMTLAB_SOCKET");
    if (where == NULL) {
        fprintf(stderr, "simtlab: this program was not started by `simtlab exec`, so there is no GPU\n");
        return NO_DEVICE;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(where);  // a name that begins with a NUL, not a file
    if (length + 1 > sizeof address.sun_path)
        return NO_DEVICE;
    memcpy(address.sun_path + 1, where, length);
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0) {
        fprintf(stderr, "simtlab: cannot reach the process that holds the GPU: %s\n", strerror(errno));
        close(connection);
        connection = -1;
        return NO_DEVICE;
    }
    owner = getpid();
    Request request = {.what = HELLO, .given = {(uint64_t)owner, CUDA_MAJOR}};
    Answer answer;
    exchange(&request, NULL, &answer, &device, sizeof device);
    return answer.error ? answer.error : map_memory();
}

cudaError connect_to_simtlab(void)
{
    static cudaError outcome = -1;
    pthread_mutex_lock(&lock);
    if (outcome < 0)
        outcome = open_connection();
    pthread_mutex_unlock(&lock);
    return owner != 0 && getpid() != owner ? NOT_INITIALISED : outcome;  // a forked child has no context, as with NVIDIA's
}

cudaError ask(Request *request, const void *bytes, Answer *answer, void *room, size_t room_bytes)
{
    cudaError error = connect_to_simtlab();
    if (error == OK)
        error = sticky;
    if (error == OK) {
        pthread_mutex_lock(&lock);
        exchange(request, bytes, answer, room, room_bytes);
        error = answer->error;
        if (leaves_no_context(error))
            sticky = error;
        pthread_mutex_unlock(&lock);
    }
    return done(error);
}

cudaError ask_for(uint64_t *value, uint32_t what, uint64_t a, uint64_t b, uint64_t c)
{
    Request request = {.what = what, .given = {a, b, c}};
    Answer answer;
    cudaError error = ask(&request, NULL, &answer, NULL, 0);
    if (error == OK && value != NULL)
        *value = answer.value[0];
    return error;
}

cudaError done(cudaError error)
{
    if (error != OK)
        latest = error;
    return error;
}

cudaError *latest_error(void)
{
    return &latest;
}

cudaError last_error(int forget)
{
    cudaError error = sticky ? sticky : latest;
    if (forget)
        latest = OK;
    return error;
}

cudaError sticky_error(void)
{
    return sticky;
}

void forget_sticky_error(void)
{
    sticky = latest = OK;
}

cudaError unsupported(const char *name)
{
    static char told[8192];
    char marked[128];
    snprintf(marked, sizeof marked, " %s ", name);
    pthread_mutex_lock(&lock);
    if (strstr(told, marked) == NULL) {
        if (strlen(told) + strlen(marked) < sizeof told)
            strcat(told, marked);
        fprintf(stderr, "simtlab: %s is not supported; it returns cudaErrorNotSupported\n", name);
    }
    pthread_mutex_unlock(&lock);
    return done(NOT_SUPPORTED);
}
