// Streams and events. A launch has ended when its call returns, so everything is in order, and an event is a moment.
#define _GNU_SOURCE
#include "simtlab_cuda.h"
#include <stdlib.h>
#include <time.h>

typedef struct Stream {
    unsigned magic, flags;
    int priority;
    uint64_t number;
} Stream;

typedef struct Event {
    unsigned magic, flags;
    int recorded;
    uint64_t nanoseconds;
} Event;

enum { STREAM = 0x57124ea1u, EVENT = 0xe7e27000u, WITHOUT_TIME = 2 };
static uint64_t made;

void forget_streams(void) {}

static cudaError check_stream(const Stream *stream)
{
    cudaError error = connect_to_simtlab();
    if (error == OK && (uintptr_t)stream > 2 && stream->magic != STREAM)
        error = INVALID_HANDLE;
    return done(error ? error : sticky_error());
}

static cudaError check_event(const Event *event)
{
    cudaError error = connect_to_simtlab();
    return done(error ? error : event == NULL || event->magic != EVENT ? INVALID_HANDLE : OK);
}

cudaError cudaStreamCreateWithPriority(Stream **stream, unsigned flags, int priority)
{
    cudaError error = connect_to_simtlab();
    if (error == OK) {
        *stream = calloc(1, sizeof **stream);
        (*stream)->magic = STREAM, (*stream)->flags = flags, (*stream)->priority = priority, (*stream)->number = ++made;
    }
    return done(error);
}

cudaError cudaStreamCreateWithFlags(Stream **stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
cudaError cudaStreamCreate(Stream **stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError cudaStreamDestroy(Stream *stream)
{
    cudaError error = check_stream(stream);
    if (error == OK && (uintptr_t)stream <= 2)
        return done(INVALID_HANDLE);
    if (error == OK) {
        stream->magic = 0;
        free(stream);
    }
    return error;
}

cudaError cudaStreamSynchronize(Stream *stream) { return check_stream(stream); }
cudaError cudaStreamQuery(Stream *stream) { return check_stream(stream); }

cudaError cudaStreamWaitEvent(Stream *stream, Event *event, unsigned flags)
{
    cudaError error = check_stream(stream);
    return error ? error : check_event(event);
}

cudaError cudaStreamGetFlags(Stream *stream, unsigned *flags)
{
    *flags = (uintptr_t)stream > 2 ? stream->flags : 0;
    return check_stream(stream);
}

cudaError cudaStreamGetPriority(Stream *stream, int *priority)
{
    *priority = (uintptr_t)stream > 2 ? stream->priority : 0;
    return check_stream(stream);
}

cudaError cudaStreamAttachMemAsync(Stream *stream, void *pointer, size_t bytes, unsigned flags) { return check_stream(stream); }

cudaError cudaStreamIsCapturing(Stream *stream, int *status)
{
    *status = 0;
    return check_stream(stream);
}

cudaError cudaLaunchHostFunc(Stream *stream, void (*function)(void *), void *data)
{
    cudaError error = check_stream(stream);
    if (error == OK)
        function(data);
    return error;
}

cudaError cudaStreamAddCallback(Stream *stream, void (*function)(Stream *, cudaError, void *), void *data, unsigned flags)
{
    cudaError error = check_stream(stream);
    if (error == OK)
        function(stream, OK, data);
    return error;
}

// The machine's time, or the host's where kernels are not timed.
static cudaError now(uint64_t *nanoseconds)
{
    if (device.timed)
        return ask_for(nanoseconds, CLOCK, 0, 0, 0);
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    *nanoseconds = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return OK;
}

cudaError cudaEventCreateWithFlags(Event **event, unsigned flags)
{
    cudaError error = connect_to_simtlab();
    if (error == OK) {
        *event = calloc(1, sizeof **event);
        (*event)->magic = EVENT, (*event)->flags = flags;
    }
    return done(error);
}

cudaError cudaEventCreate(Event **event) { return cudaEventCreateWithFlags(event, 0); }

cudaError cudaEventRecord(Event *event, Stream *stream)
{
    cudaError error = check_event(event);
    if (error == OK)
        error = check_stream(stream);
    if (error == OK)
        error = now(&event->nanoseconds);
    if (error == OK)
        event->recorded = 1;
    return error;
}

cudaError cudaEventRecordWithFlags(Event *event, Stream *stream, unsigned flags) { return cudaEventRecord(event, stream); }
cudaError cudaEventSynchronize(Event *event) { return check_event(event); }
cudaError cudaEventQuery(Event *event) { return check_event(event); }

cudaError cudaEventElapsedTime(float *milliseconds, Event *from, Event *to)
{
    cudaError error = check_event(from);
    if (error == OK)
        error = check_event(to);
    if (error == OK && (!from->recorded || !to->recorded || (from->flags | to->flags) & WITHOUT_TIME))
        error = done(INVALID_HANDLE);
    if (error == OK)
        *milliseconds = (float)((double)(int64_t)(to->nanoseconds - from->nanoseconds) * 1e-6);
    return error;
}

cudaError cudaEventElapsedTime_v2(float *milliseconds, Event *from, Event *to)
{
    return cudaEventElapsedTime(milliseconds, from, to);
}

cudaError cudaEventDestroy(Event *event)
{
    cudaError error = check_event(event);
    if (error == OK) {
        event->magic = 0;
        free(event);
    }
    return error;
}
