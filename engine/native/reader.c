/* The expert reader: a few threads that fill scattered memory from files, demand first. One lock
   guards everything but the reading itself; there are tens of requests a token, of a megabyte. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "martlet.h"
#include "thread.h"

enum { PLACES_A_CALL = 1024 }; /* IOV_MAX of Linux and macOS */

typedef struct Job {
    struct Job *next, *previous; /* in its queue */
    Batch *batch;
    int64_t offset, answer;
    int file, count, queued;
    struct iovec *places;
} Job;

typedef struct {
    Job *first, *last;
} Queue;

struct Batch {
    Reader *reader;
    pthread_cond_t done;
    Queue *queue;
    int count, open; /* requests, and those without an answer */
    struct iovec *places;
    Job jobs[];
};

struct Reader {
    pthread_mutex_t lock;
    pthread_cond_t work;
    Queue demand, lookahead;
    int closed, threads, demands; /* demands: those being read */
    Preadv preadv;
    pthread_t ids[];
};

static void push(Queue *queue, Job *job)
{
    job->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = job;
    queue->last = job;
    job->queued = 1;
}

static void pull(Queue *queue, Job *job)
{
    *(job->previous ? &job->previous->next : &queue->first) = job->next;
    *(job->next ? &job->next->previous : &queue->last) = job->previous;
    job->queued = 0;
}

static void answer(Job *job, int64_t with)
{
    job->answer = with;
    if (!--job->batch->open)
        pthread_cond_broadcast(&job->batch->done);
}

/* Steps over `bytes` that have been read. */
static void advance(Job *job, size_t bytes)
{
    job->offset += (int64_t)bytes;
    while (job->count && bytes >= job->places->iov_len) {
        bytes -= job->places->iov_len;
        job->places++;
        job->count--;
    }
    if (bytes) {
        job->places->iov_base = (char *)job->places->iov_base + bytes;
        job->places->iov_len -= bytes;
    }
}

/* Reads all of a request, whatever the pieces it comes in: the answer. */
static int64_t fill(Job *job, Preadv read)
{
    advance(job, 0); /* over empty places: reading only those would look like the file's end */
    while (job->count) {
        int count = job->count < PLACES_A_CALL ? job->count : PLACES_A_CALL;
        ssize_t bytes = read(job->file, job->places, count, (off_t)job->offset);
        if (bytes < 0 && errno != EINTR)
            return errno;
        if (bytes == 0)
            return -1 - job->offset;
        if (bytes > 0)
            advance(job, (size_t)bytes);
    }
    return 0;
}

/* A guess is not begun while a demand is being read: it would take half of the disk's rate. */
static Job *next_job(Reader *reader)
{
    Job *job = reader->demand.first;
    if (!job && !reader->demands)
        job = reader->lookahead.first;
    if (job)
        pull(job->batch->queue, job);
    return job;
}

static void *run(void *argument)
{
    Reader *reader = argument;
    serve_the_user();
    pthread_mutex_lock(&reader->lock);
    while (!reader->closed) {
        Job *job = next_job(reader);
        if (!job) {
            pthread_cond_wait(&reader->work, &reader->lock);
            continue;
        }
        const int demand = job->batch->queue == &reader->demand;
        reader->demands += demand;
        pthread_mutex_unlock(&reader->lock);
        int64_t result = fill(job, reader->preadv);
        pthread_mutex_lock(&reader->lock);
        reader->demands -= demand;
        answer(job, result);
        if (!reader->demands && reader->lookahead.first)
            pthread_cond_broadcast(&reader->work);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

Reader *martlet_reader_open(int threads, Preadv read)
{
    Reader *reader = calloc(1, sizeof *reader + (size_t)threads * sizeof *reader->ids);
    if (!reader)
        return NULL;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->work, NULL);
    reader->preadv = read ? read : preadv;
    while (reader->threads < threads &&
           !start_thread(&reader->ids[reader->threads], run, reader))
        reader->threads++;
    if (reader->threads)
        return reader;
    martlet_reader_free(reader);
    return NULL;
}

static void drop_all(Queue *queue)
{
    for (Job *job; (job = queue->first);) {
        pull(queue, job);
        answer(job, ECANCELED);
    }
}

void martlet_reader_close(Reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    reader->closed = 1;
    drop_all(&reader->demand);
    drop_all(&reader->lookahead);
    pthread_cond_broadcast(&reader->work);
    pthread_mutex_unlock(&reader->lock);
    while (reader->threads)
        pthread_join(reader->ids[--reader->threads], NULL);
}

void martlet_reader_free(Reader *reader)
{
    pthread_cond_destroy(&reader->work);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
}

static Batch *new_batch(Reader *reader, const ReadRequest *requests, int count,
                        const struct iovec *places)
{
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += (size_t)requests[i].places;
    Batch *batch = calloc(1, sizeof *batch + (size_t)count * sizeof *batch->jobs);
    struct iovec *copy = malloc((total + 1) * sizeof *copy);
    if (!batch || !copy) {
        free(batch);
        free(copy);
        return NULL;
    }
    if (total)
        memcpy(copy, places, total * sizeof *copy);
    *batch = (Batch){.reader = reader, .count = count, .open = count, .places = copy};
    pthread_cond_init(&batch->done, NULL);
    for (int i = 0; i < count; copy += requests[i++].places)
        batch->jobs[i] = (Job){.batch = batch, .offset = requests[i].offset,
                               .file = requests[i].file, .count = requests[i].places,
                               .places = copy};
    return batch;
}

Batch *martlet_submit(Reader *reader, const ReadRequest *requests, int count,
                      const struct iovec *places, int lookahead)
{
    Batch *batch = new_batch(reader, requests, count, places);
    if (!batch)
        return NULL;
    batch->queue = lookahead ? &reader->lookahead : &reader->demand;
    pthread_mutex_lock(&reader->lock);
    for (int i = 0; i < count; i++)
        push(batch->queue, &batch->jobs[i]);
    if (reader->closed)
        drop_all(batch->queue);
    for (int i = 0; i < count && i < reader->threads; i++)
        pthread_cond_signal(&reader->work);
    pthread_mutex_unlock(&reader->lock);
    return batch;
}

void martlet_wait(Batch *batch, int64_t *answers)
{
    pthread_mutex_lock(&batch->reader->lock);
    while (batch->open)
        pthread_cond_wait(&batch->done, &batch->reader->lock);
    for (int i = 0; i < batch->count; i++)
        answers[i] = batch->jobs[i].answer;
    pthread_mutex_unlock(&batch->reader->lock);
}

int martlet_cancel(Batch *batch, int32_t *dropped)
{
    int count = 0;
    pthread_mutex_lock(&batch->reader->lock);
    for (int i = 0; i < batch->count; i++)
        if (batch->jobs[i].queued) {
            pull(batch->queue, &batch->jobs[i]);
            answer(&batch->jobs[i], ECANCELED);
            dropped[count++] = i;
        }
    pthread_mutex_unlock(&batch->reader->lock);
    return count;
}

void martlet_batch_free(Batch *batch)
{
    pthread_cond_destroy(&batch->done);
    free(batch->places);
    free(batch);
}
