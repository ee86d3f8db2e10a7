/* A pool of threads that work on one job at a time and sleep between jobs. */
#ifndef MARTLET_POOL_H
#define MARTLET_POOL_H

#include <stddef.h>

/* Does one chunk. What it writes must depend on the chunk alone, never on the thread. `scratch` is
   this thread's own. */
typedef void (*Task)(const void *job, int chunk, float *scratch);

/* Runs every chunk of a job once, on the calling thread and on the workers: whoever is free takes
   the next one. Callers from several threads wait for each other. Returns 0 or ENOMEM. */
int pool_run(Task task, const void *job, int chunks, size_t scratch_floats);

#endif
