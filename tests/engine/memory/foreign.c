/* What macOS exports and the engine calls, in small: libdispatch's memory pressure source, Mach's
   figures, sysctl and the Objective-C runtime. Events come from a thread that Python never made.
   Misuse aborts where libdispatch would. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*handler)(void *);
struct source {
    handler event, cancel;
    uintptr_t mask, data;
    int activated, cancelled;
};
struct source_type { long id; };
struct source_type _dispatch_source_type_memorypressure = {7};
static struct source *only;
int fake_released, fake_refuses;

void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
    if (identifier != 0x11 || flags) abort();
    return &fake_released;
}

void *dispatch_source_create(const void *type, uintptr_t handle, uintptr_t mask, void *queue) {
    if (type != &_dispatch_source_type_memorypressure || handle || queue != &fake_released) abort();
    if (fake_refuses) return NULL;
    only = calloc(1, sizeof *only);
    only->mask = mask;
    return only;
}

void dispatch_source_set_event_handler_f(struct source *s, handler h) { s->event = h; }
void dispatch_source_set_cancel_handler_f(struct source *s, handler h) { s->cancel = h; }
void dispatch_activate(struct source *s) { s->activated = 1; }
uintptr_t dispatch_source_get_data(struct source *s) { return s->data; }

static void on_a_thread(handler h) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, (void *(*)(void *))(void (*)(void))h, NULL)) abort();
    pthread_join(thread, NULL);
}

/* Whether the event was delivered. */
int fake_pressure(uintptr_t level) {
    if (!only || !only->activated || only->cancelled || !(only->mask & level)) return 0;
    only->data = level;
    on_a_thread(only->event);
    return 1;
}

void dispatch_source_cancel(struct source *s) {
    s->cancelled = 1;
    on_a_thread(s->cancel);
}

void dispatch_release(struct source *s) {
    if (!s->activated || !s->cancelled) abort();
    only = NULL;
    free(s);
    fake_released++;
}

uint32_t mach_task_self_ = 515;
uint32_t mach_host_self(void) { return 42; }

int host_statistics64(uint32_t host, int flavor, uint32_t *info, uint32_t *count) {
    if (host != 42 || flavor != 4 || *count != 38) return 5;
    memset(info, 0, *count * 4);
    info[0] = 1000;  /* free_count, speculative pages among them */
    info[1] = 50000; /* active_count */
    info[2] = 40000; /* inactive_count */
    info[22] = 30;   /* purgeable_count */
    info[23] = 100;  /* speculative_count */
    info[34] = 2000; /* external_page_count, speculative pages among them */
    return 0;
}

int task_info(uint32_t task, int flavor, uint64_t *info, uint32_t *count) {
    if (task != 515 || flavor != 22 || *count != 84) return 5;
    memset(info, 0, *count * 4);
    info[2] = 800000000;  /* resident_size */
    info[15] = 123000000; /* compressed */
    info[18] = 900000000; /* phys_footprint */
    info[21] = 950000000; /* ledger_phys_footprint_peak */
    return 0;
}

int fake_level = 1;
int sysctlbyname(const char *name, void *old, size_t *size, void *fresh, size_t fresh_size) {
    if (fresh || fresh_size) return -1;
    if (!strcmp(name, "hw.memsize") && *size == 8) *(uint64_t *)old = 17179869184u;
    else if (!strcmp(name, "hw.pagesize") && *size == 8) *(int64_t *)old = 16384;
    else if (!strcmp(name, "kern.memorystatus_vm_pressure_level") && *size == 4)
        *(int *)old = fake_level;
    else return -1;
    return 0;
}

int fake_relieved;
size_t malloc_zone_pressure_relief(void *zone, size_t goal) {
    fake_relieved += !zone && !goal;
    return 0;
}

static int process_info_class, process_info;
int fake_pools, fake_low_power;
long fake_thermal;
void *objc_getClass(const char *name) {
    return strcmp(name, "NSProcessInfo") ? NULL : &process_info_class;
}
void *sel_registerName(const char *name) { return (void *)name; }
void *objc_autoreleasePoolPush(void) { return fake_pools++, &fake_pools; }
void objc_autoreleasePoolPop(void *pool) { fake_pools -= pool == &fake_pools; }
intptr_t objc_msgSend(void *target, const char *selector) {
    if (target == &process_info_class && !strcmp(selector, "processInfo"))
        return (intptr_t)&process_info;
    if (target != &process_info) abort();
    if (!strcmp(selector, "thermalState")) return fake_thermal;
    /* A method that answers BOOL leaves the rest of the register as it was. */
    if (!strcmp(selector, "isLowPowerModeEnabled")) return 0x7700 | fake_low_power;
    abort();
}
