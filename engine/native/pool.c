/* See pool.h. The chunks that are left stand in `ticket` beside the job's number, so that a worker
   that wakes late can neither claim a chunk of a job that has ended nor hold the next one up. */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "martlet.h"
#include "thread.h"

enum { MAX_THREADS = 256, SPINS = 2000 }; /* a spin is some 20 ns: less than it costs to wake */

static struct {
    pthread_mutex_t call; /* held by the thread whose job runs */
    pthread_mutex_t lock; /* of the sleepers */
    pthread_cond_t wake;
    _Atomic uint64_t ticket; /* job number << 32 | chunks not yet claimed */
    _Atomic uint32_t done;   /* chunks */
    _Atomic int sleepers, quit;
    _Atomic(Task) task;
    _Atomic(const void *) job;
    int threads, started;
    pthread_t workers[MAX_THREADS];
    float *scratch[MAX_THREADS];
    size_t scratch_floats;
} pool = {
    .call = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .threads = 1,
    .started = 1,
};

static void relax(int spins)
{
    if (spins > SPINS)
        sched_yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#elif defined(__aarch64__)
    else
        __asm__ volatile("yield");
#endif
}

static void work(int thread)
{
    uint64_t ticket = atomic_load(&pool.ticket);
    while ((uint32_t)ticket) {
        Task task = atomic_load(&pool.task);
        const void *job = atomic_load(&pool.job);
        if (!atomic_compare_exchange_weak(&pool.ticket, &ticket, ticket - 1))
            continue;
        task(job, (int)(uint32_t)ticket - 1, pool.scratch[thread]);
        atomic_fetch_add(&pool.done, 1);
        ticket = atomic_load(&pool.ticket);
    }
}

static int waiting(void)
{
    return !(uint32_t)atomic_load(&pool.ticket) && !atomic_load(&pool.quit);
}

static void *worker(void *thread)
{
    serve_the_user();
    while (!atomic_load(&pool.quit)) {
        work((int)(intptr_t)thread);
        for (int spins = 0; spins < SPINS && waiting(); spins++)
            relax(spins);
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_add(&pool.sleepers, 1);
        while (waiting())
            pthread_cond_wait(&pool.wake, &pool.lock);
        atomic_fetch_sub(&pool.sleepers, 1);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

static void wake(int count)
{
    if (!atomic_load(&pool.sleepers))
        return;
    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < count && i < pool.sleepers; i++)
        pthread_cond_signal(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void stop(void)
{
    atomic_store(&pool.quit, 1);
    wake(pool.started);
    for (int i = 1; i < pool.started; i++)
        pthread_join(pool.workers[i], NULL);
    atomic_store(&pool.quit, 0);
    pool.started = 1;
}

/* A forked child has none of the threads, and must not find a lock held. */
static void forked(void)
{
    pthread_mutex_init(&pool.call, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    atomic_store(&pool.ticket, 0);
    atomic_store(&pool.sleepers, 0);
    pool.started = 1;
}

__attribute__((constructor)) static void on_load(void)
{
    pthread_atfork(NULL, NULL, forked);
}

static void start(void)
{
    while (pool.started < pool.threads) {
        void *thread = (void *)(intptr_t)pool.started;
        if (start_thread(&pool.workers[pool.started], worker, thread))
            return; /* fewer threads are slower, not wrong */
        pool.started++;
    }
}

/* All threads' scratch has one size, which only grows. */
static int grow_scratch(size_t floats)
{
    size_t size = floats > pool.scratch_floats ? floats : pool.scratch_floats;
    for (int i = 0; i < pool.threads; i++) {
        if (pool.scratch[i] && size == pool.scratch_floats)
            continue;
        void *memory;
        if (posix_memalign(&memory, 64, size * sizeof(float)))
            return ENOMEM;
        free(pool.scratch[i]);
        pool.scratch[i] = memory;
    }
    pool.scratch_floats = size;
    return 0;
}

int pool_run(Task task, const void *job, int chunks, size_t scratch_floats)
{
    if (chunks <= 0)
        return 0;
    pthread_mutex_lock(&pool.call);
    int error = grow_scratch(scratch_floats);
    if (!error) {
        start();
        atomic_store(&pool.task, task);
        atomic_store(&pool.job, job);
        atomic_store(&pool.done, 0);
        uint64_t number = (atomic_load(&pool.ticket) >> 32) + 1;
        atomic_store(&pool.ticket, number << 32 | (uint32_t)chunks);
        if (chunks > 1)
            wake(chunks - 1);
        work(0);
        for (int spins = 0; atomic_load(&pool.done) < (uint32_t)chunks; spins++)
            relax(spins);
    }
    pthread_mutex_unlock(&pool.call);
    return error;
}

static void free_scratch(void)
{
    for (int i = 0; i < pool.threads; i++) {
        free(pool.scratch[i]);
        pool.scratch[i] = NULL;
    }
    pool.scratch_floats = 0;
}

void martlet_set_threads(int threads)
{
    pthread_mutex_lock(&pool.call);
    stop();
    free_scratch();
    pool.threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    pthread_mutex_unlock(&pool.call);
}
