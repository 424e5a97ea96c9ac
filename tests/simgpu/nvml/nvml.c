/* libnvidia-ml.so.1 made of a file: the functions of NVML that a profiler calls, with NVIDIA's own
 * signatures and structures, answering from a text file that a test writes.
 *
 * Only the silicon is simulated: NVIDIA's own binding loads this as it loads theirs.
 *
 *     SIMNVML_STATE names the file; it is read anew at every call. A line is a word and its value.
 *
 *     init 0                  what nvmlInit answers; 9 is "driver not loaded"
 *     gpu                     begins the next GPU; what follows is its own
 *     name NVIDIA A100-SXM4-80GB
 *     uuid GPU-...
 *     total, reserved, used   bytes of memory; used without what is reserved
 *     util 71, memutil 30     percent
 *     power, limit            mW
 *     energy                  mJ
 *     compute PID BYTES       a process that computes; -1: not told
 *     graphics PID BYTES      one that draws
 *     fails WHAT CODE         that call answers with the code; WHAT as above, or `all`
 *     old                     a driver that knows the first version of nvmlDeviceGetMemoryInfo only
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_GPUS 16
#define MOST_PROCESSES 64
#define MOST_FAILURES 16

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    FUNCTION_NOT_FOUND = 13,
    UNKNOWN = 999
};

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

struct process { unsigned int pid; unsigned long long bytes; };
struct failure { char what[32]; int code; };
struct gpu {
    char name[96], uuid[96];
    unsigned long long total, reserved, used, energy;
    unsigned int util, memutil, power, limit;
    struct process compute[MOST_PROCESSES], graphics[MOST_PROCESSES];
    unsigned int computing, drawing;
    struct failure failures[MOST_FAILURES];
    unsigned int failing;
    int old;
};

static int users;

static void number(const char *value, unsigned long long *into) { *into = strtoull(value, 0, 10); }
static void small(const char *value, unsigned int *into) { *into = strtoul(value, 0, 10); }

static void process_of(const char *value, struct process *list, unsigned int *count)
{
    long long bytes = 0;
    if (*count < MOST_PROCESSES && sscanf(value, "%u %lld", &list[*count].pid, &bytes) == 2)
        list[(*count)++].bytes = (unsigned long long)bytes;
}

static void set(struct gpu *gpu, const char *key, const char *value)
{
    if (!strcmp(key, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", value);
    else if (!strcmp(key, "uuid")) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", value);
    else if (!strcmp(key, "total")) number(value, &gpu->total);
    else if (!strcmp(key, "reserved")) number(value, &gpu->reserved);
    else if (!strcmp(key, "used")) number(value, &gpu->used);
    else if (!strcmp(key, "energy")) number(value, &gpu->energy);
    else if (!strcmp(key, "util")) small(value, &gpu->util);
    else if (!strcmp(key, "memutil")) small(value, &gpu->memutil);
    else if (!strcmp(key, "power")) small(value, &gpu->power);
    else if (!strcmp(key, "limit")) small(value, &gpu->limit);
    else if (!strcmp(key, "old")) gpu->old = 1;
    else if (!strcmp(key, "compute")) process_of(value, gpu->compute, &gpu->computing);
    else if (!strcmp(key, "graphics")) process_of(value, gpu->graphics, &gpu->drawing);
    else if (!strcmp(key, "fails") && gpu->failing < MOST_FAILURES) {
        struct failure *failure = &gpu->failures[gpu->failing];
        if (sscanf(value, "%31s %d", failure->what, &failure->code) == 2) gpu->failing++;
    }
}

/* How many GPUs the file has; the one of that index goes to `wanted`, what nvmlInit says to `init`. */
static int look(int index, struct gpu *wanted, int *init)
{
    const char *path = getenv("SIMNVML_STATE");
    FILE *file = path ? fopen(path, "r") : 0;
    char line[256], *value;
    int count = 0;
    if (init) *init = file ? SUCCESS : UNKNOWN;
    if (wanted) memset(wanted, 0, sizeof *wanted);
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        value = strchr(line, ' ');
        if (value) *value++ = 0;
        else value = "";
        if (!strcmp(line, "gpu")) count++;
        else if (!strcmp(line, "init")) { if (init) *init = atoi(value); }
        else if (wanted && count == index + 1) set(wanted, line, value);
    }
    fclose(file);
    return count < MOST_GPUS ? count : MOST_GPUS;
}

/* The GPU behind a handle, if it is to answer this question. */
static nvmlReturn_t ask(nvmlDevice_t device, const char *what, struct gpu *gpu)
{
    size_t index = (size_t)device - 1;
    unsigned int at;
    if (!users) return UNINITIALIZED;
    if (index >= MOST_GPUS || look((int)index, gpu, 0) <= (int)index) return INVALID_ARGUMENT;
    for (at = 0; at < gpu->failing; at++)
        if (!strcmp(gpu->failures[at].what, what) || !strcmp(gpu->failures[at].what, "all"))
            return gpu->failures[at].code;
    return SUCCESS;
}

static nvmlReturn_t text(const char *from, char *into, unsigned int length)
{
    if (strlen(from) + 1 > length) return INSUFFICIENT_SIZE;
    strcpy(into, from);
    return SUCCESS;
}

static nvmlReturn_t processes(const struct process *list, unsigned int there, unsigned int *count,
                              nvmlProcessInfo_t *into)
{
    unsigned int room = *count, at;
    *count = there;
    if (there > room) return INSUFFICIENT_SIZE;
    for (at = 0; at < there; at++) {
        into[at].pid = list[at].pid;
        into[at].usedGpuMemory = list[at].bytes;
        into[at].gpuInstanceId = into[at].computeInstanceId = 0xFFFFFFFF;
    }
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    int answer;
    (void)flags;
    look(-1, 0, &answer);
    if (answer == SUCCESS) users++;
    return answer;
}

EXPORT nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

EXPORT nvmlReturn_t nvmlShutdown(void)
{
    if (!users) return UNINITIALIZED;
    users--;
    return SUCCESS;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t code)
{
    return code == SUCCESS ? "Success" : "Unknown Error";
}

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    if (!users) return UNINITIALIZED;
    *count = (unsigned int)look(-1, 0, 0);
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    struct gpu gpu;
    nvmlDevice_t handle = (nvmlDevice_t)((size_t)index + 1);
    nvmlReturn_t answer = ask(handle, "handle", &gpu);
    if (answer == SUCCESS) *device = handle;
    return answer;
}

#define QUESTION(what)                            \
    struct gpu gpu;                               \
    nvmlReturn_t answer = ask(device, what, &gpu); \
    if (answer != SUCCESS) return answer

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    QUESTION("name");
    return text(gpu.name, name, length);
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    QUESTION("uuid");
    return text(gpu.uuid, uuid, length);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    QUESTION("memory");
    memory->total = gpu.total;
    memory->used = gpu.used + gpu.reserved; /* the first version does not tell them apart */
    memory->free = gpu.total - memory->used;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    QUESTION("memory");
    if (gpu.old) return FUNCTION_NOT_FOUND;
    if (memory->version != (sizeof *memory | 2u << 24)) return INVALID_ARGUMENT;
    memory->total = gpu.total;
    memory->reserved = gpu.reserved;
    memory->used = gpu.used;
    memory->free = gpu.total - gpu.used - gpu.reserved;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    QUESTION("util");
    rates->gpu = gpu.util;
    rates->memory = gpu.memutil;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
    QUESTION("power");
    *milliwatts = gpu.power;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
    QUESTION("limit");
    *milliwatts = gpu.limit;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                        unsigned long long *millijoules)
{
    QUESTION("energy");
    *millijoules = gpu.energy;
    return SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                            unsigned int *count,
                                                            nvmlProcessInfo_t *into)
{
    QUESTION("compute");
    return processes(gpu.compute, gpu.computing, count, into);
}

EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device,
                                                             unsigned int *count,
                                                             nvmlProcessInfo_t *into)
{
    QUESTION("graphics");
    return processes(gpu.graphics, gpu.drawing, count, into);
}
