/* Runs every function of the core on small and ragged inputs, for a build with sanitizers: buffers
   have exactly the size that martlet.h promises, and what threads share is shared. Checks products
   against a plain reading of the format, that results do not depend on the number of threads, and
   that every request is answered once. Arguments: the instruction sets to run. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "martlet.h"

#define CHECK(truth)                                                                               \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth);                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint32_t seed = 1;

static uint32_t draw(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static void *bytes(size_t count)
{
    unsigned char *p = malloc(count);
    CHECK(p || !count);
    for (size_t i = 0; i < count; i++)
        p[i] = (unsigned char)draw(256);
    return p;
}

static float *floats(size_t count)
{
    float *p = malloc(count * sizeof *p);
    CHECK(p || !count);
    for (size_t i = 0; i < count; i++)
        p[i] = (float)draw(2001) / 1000 - 1;
    return p;
}

/* Small numbers of a type; their bits are those of float32, cut. */
static void *numbers(size_t count, int type)
{
    float *wide = floats(count);
    if (type == TYPE_F32)
        return wide;
    uint16_t *p = malloc(count * sizeof *p);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, wide + i, sizeof bits);
        p[i] = type == TYPE_BF16 ? (uint16_t)(bits >> 16) : (uint16_t)(0x2c00 | draw(1024));
    }
    free(wide);
    return p;
}

static Matrix matrix(int slots, int out, int in, int bits, int group, int type)
{
    const size_t count = (size_t)slots * (size_t)out * (size_t)in;
    if (!bits)
        return (Matrix){numbers(count, type), NULL, NULL, out, in, 0, 0, type};
    const size_t groups = count / (size_t)group;
    return (Matrix){bytes(count * (size_t)bits / 8), numbers(groups, type), numbers(groups, type),
                    out, in, bits, group, type};
}

static void drop(Matrix w)
{
    free((void *)w.weight);
    free((void *)w.scales);
    free((void *)w.biases);
}

static float number(const void *data, size_t index, int type)
{
    if (type == TYPE_F32)
        return ((const float *)data)[index];
    const uint32_t half = ((const uint16_t *)data)[index];
    const uint32_t bits = type == TYPE_BF16 ? half << 16 : (half << 13) + (112u << 23);
    float x; /* float16 is drawn positive and normal */
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Bit by bit, as martlet.h describes it. */
static double weight_at(const Matrix *w, int row, int column)
{
    const size_t index = (size_t)row * (size_t)w->in + (size_t)column;
    if (!w->bits)
        return number(w->weight, index, w->type);
    unsigned code = 0;
    for (size_t b = 0; b < (size_t)w->bits; b++) {
        const size_t bit = index * (size_t)w->bits + b;
        code |= (((const unsigned char *)w->weight)[bit / 8] >> bit % 8 & 1u) << b;
    }
    const size_t group = index / (size_t)w->group;
    return (double)number(w->scales, group, w->type) * code + number(w->biases, group, w->type);
}

static void check_products(const Matrix *w, const float *x, const float *y, int rows)
{
    for (int i = 0; i < w->out; i++)
        for (int row = 0; row < rows; row++) {
            double sum = 0, size = 0;
            for (int j = 0; j < w->in; j++) {
                const double term = weight_at(w, i, j) * x[row * w->in + j];
                sum += term;
                size += fabs(term);
            }
            CHECK(fabs(y[row * w->out + i] - sum) <= 1e-5 * size);
        }
}

static void same(const float *a, const float *b, size_t count)
{
    CHECK(!memcmp(a, b, count * sizeof *a));
}

static void products(Matrix w)
{
    const int most = 7;
    float *x = floats((size_t)most * (size_t)w.in);
    for (int rows = 1; rows <= most; rows += 2) {
        const size_t count = (size_t)rows * (size_t)w.out;
        float *one = floats(count), *many = floats(count);
        martlet_set_threads(1);
        CHECK(!martlet_linear(&w, x, one, rows));
        martlet_set_threads(4);
        CHECK(!martlet_linear(&w, x, many, rows));
        same(one, many, count);
        check_products(&w, x, one, rows);
        free(one);
        free(many);
    }
    free(x);
    uint32_t ids[] = {0, (uint32_t)w.out - 1};
    float *y = floats(2 * (size_t)w.in);
    CHECK(!martlet_embed(&w, ids, y, 2));
    for (int j = 0; j < w.in; j++)
        CHECK(fabs(y[w.in + j] - weight_at(&w, w.out - 1, j)) < 1e-5 * (1 << w.bits));
    free(y);
    drop(w);
}

static void all_products(void)
{
    static const int widths[] = {2, 3, 4, 5, 6, 8};
    for (int i = 0; i < 6; i++)
        for (int group = 32; group <= 128; group *= 2)
            for (int type = TYPE_F32; type <= TYPE_BF16; type++) {
                products(matrix(1, 5, group, widths[i], group, type));
                products(matrix(1, 66, 3 * group, widths[i], group, type));
            }
    products(matrix(1, 600, 512, 4, 64, TYPE_BF16));
    for (int type = TYPE_F32; type <= TYPE_BF16; type++)
        for (int in = 1; in < 70; in += 17)
            products(matrix(1, 9, in, 0, 0, type));
}

static void experts(int bits, int pairs)
{
    enum { SLOTS = 5, D = 64, I = 96, ROWS = 3 };
    Experts e = {matrix(SLOTS, I, D, bits, 32, TYPE_BF16), matrix(SLOTS, I, D, bits, 32, TYPE_BF16),
                 matrix(SLOTS, D, I, bits, 32, TYPE_BF16), SLOTS};
    float *x = floats(ROWS * D), *one = floats((size_t)pairs * D), *many = floats((size_t)pairs * D);
    uint32_t *slots = malloc((size_t)pairs * sizeof *slots);
    uint32_t *rows = malloc((size_t)pairs * sizeof *rows);
    uint32_t *places = malloc((size_t)pairs * sizeof *places);
    for (int i = 0; i < pairs; i++) {
        slots[i] = draw(SLOTS);
        rows[i] = draw(ROWS);
    }
    martlet_set_threads(1);
    CHECK(!martlet_experts(&e, x, slots, rows, NULL, one, pairs));
    martlet_set_threads(4);
    CHECK(!martlet_experts(&e, x, slots, rows, NULL, many, pairs));
    same(one, many, (size_t)pairs * D);
    for (int i = 0; i < pairs; i++)
        places[i] = (uint32_t)(pairs - 1 - i);
    CHECK(!martlet_experts(&e, x, slots, rows, places, many, pairs));
    for (int i = 0; i < pairs; i++)
        same(one + i * D, many + (pairs - 1 - i) * D, D);
    slots[0] = SLOTS;
    CHECK(martlet_experts(&e, x, slots, rows, NULL, many, pairs) == EINVAL);
    free(places);
    drop(e.gate);
    drop(e.up);
    drop(e.down);
    free(x);
    free(one);
    free(many);
    free(slots);
    free(rows);
}

static void rows_of_a_layer(int rows, int width)
{
    enum { K = 3, E = 11 };
    const size_t count = (size_t)rows * (size_t)width;
    float *x = floats(count), *y = floats(count), *weight = floats((size_t)width);
    float *pairs = floats(count * K), *scores = floats((size_t)rows * K);
    uint32_t *ids = malloc((size_t)rows * K * sizeof *ids);
    Matrix gate = matrix(1, E, width, 0, 0, TYPE_F32);
    CHECK(!martlet_rms_norm(x, weight, 1e-6f, y, rows, width));
    CHECK(!martlet_add_norm(x, y, weight, 1e-6f, pairs, y, rows, width));
    const Matrix *both[] = {&gate, &gate};
    float *outputs[] = {pairs, pairs + rows * E};
    CHECK(!martlet_linears(both, 2, x, outputs, rows));
    CHECK(!martlet_route(&gate, x, rows, K, 1, ids, scores));
    CHECK(!martlet_combine(pairs, scores, x, x, y, rows, K, width));
    Shared s = {matrix(1, 8, width, 0, 0, TYPE_BF16), matrix(1, 8, width, 0, 0, TYPE_BF16),
                matrix(1, width, 8, 0, 0, TYPE_BF16), matrix(1, 1, width, 0, 0, TYPE_BF16)};
    CHECK(!martlet_shared(&s, x, y, rows));
    for (size_t i = 0; i < count; i++)
        CHECK(isfinite(y[i]));
    drop(gate);
    drop(s.gate);
    drop(s.up);
    drop(s.down);
    drop(s.opening);
    free(x);
    free(y);
    free(weight);
    free(pairs);
    free(scores);
    free(ids);
}

static void delta_net(int rows, int key_dim, int value_dim)
{
    enum { HK = 2, HV = 4, TAPS = 4 };
    const size_t channels = (size_t)(2 * HK * key_dim + HV * value_dim), n = (size_t)rows;
    const size_t values = n * HV * (size_t)value_dim;
    const size_t state = HV * (size_t)value_dim * (size_t)key_dim;
    float *weights[] = {floats(channels * TAPS), floats(HV), floats(HV), floats((size_t)value_dim)};
    float *in[] = {floats(n * channels), floats(values), floats(n * HV),
                   floats(n * HV),       floats(3 * channels), floats(state)};
    float *out[] = {floats(values), floats(3 * channels), floats(state)};
    DeltaNet w = {weights[0], weights[1], weights[2], weights[3], HK,   HV,
                  key_dim,    value_dim,  TAPS,       1e-6f};
    DeltaArrays arrays = {in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1], out[2]};
    CHECK(!martlet_delta_net(&w, &arrays, rows));
    for (size_t i = 0; i < values; i++)
        CHECK(isfinite(out[0][i]));
    for (int i = 0; i < 4; i++)
        free(weights[i]);
    for (int i = 0; i < 6; i++)
        free(in[i]);
    for (int i = 0; i < 3; i++)
        free(out[i]);
}

static void attention(int rows, int past, int d)
{
    enum { H = 4, K = 2 };
    const size_t n = (size_t)rows, width = (size_t)d, room = (size_t)(past + rows);
    float *q_norm = floats(width), *k_norm = floats(width), *q = floats(n * H * 2 * width);
    float *k = floats(n * K * width), *v = floats(n * K * width), *y = floats(n * H * width);
    float *keys = floats(K * room * width), *values = floats(K * room * width);
    Attention w = {q_norm, k_norm, H, K, d, d / 2, 1e4f, 1e-6f};
    AttentionArrays arrays = {q, k, v, keys, values, y, past, past + rows};
    CHECK(!martlet_attention(&w, &arrays, rows));
    for (size_t i = 0; i < n * H * width; i++)
        CHECK(isfinite(y[i]));
    free(q_norm);
    free(k_norm);
    free(q);
    free(k);
    free(v);
    free(y);
    free(keys);
    free(values);
}

/* The file of the reader's tests: byte i is this; its end is at END. Some reads are short, some
   interrupted, some fail: by their offset, so that the outcome is known. */
enum { REQUESTS = 10000, BLOB = 61, END = REQUESTS * BLOB };

static unsigned char byte_at(int64_t offset)
{
    return (unsigned char)(offset * 2654435761u >> 13);
}

static int fails(int64_t offset)
{
    return offset / BLOB % 17 == 3;
}

static ssize_t faulty(int file, const struct iovec *places, int count, off_t offset)
{
    static _Atomic unsigned calls;
    const unsigned fate = calls++ * 2654435761u >> 28;
    (void)file;
    if (fails(offset)) {
        errno = EIO;
        return -1;
    }
    if (fate < 2) {
        errno = EINTR;
        return -1;
    }
    const ssize_t most = fate < 8 ? 1 + (ssize_t)fate * 3 : 1 << 20;
    ssize_t done = 0;
    for (int i = 0; i < count; i++)
        for (size_t j = 0; j < places[i].iov_len && done < most && offset + done < END; j++)
            ((unsigned char *)places[i].iov_base)[j] = byte_at(offset + done++);
    return done;
}

/* A request for BLOB bytes in three places, one of them empty. */
static void ask(ReadRequest *request, struct iovec *places, int number, unsigned char *memory)
{
    *request = (ReadRequest){(int64_t)number * BLOB, 0, 3};
    places[0] = (struct iovec){memory, 20};
    places[1] = (struct iovec){memory + 20, 0};
    places[2] = (struct iovec){memory + 20, BLOB - 20};
}

static void check_answer(int64_t answer, int number, const unsigned char *memory)
{
    const int64_t offset = (int64_t)number * BLOB;
    if (answer == ECANCELED)
        return;
    if (fails(offset))
        CHECK(answer == EIO);
    else if (offset >= END)
        CHECK(answer == -1 - offset);
    else {
        CHECK(answer == 0);
        for (int i = 0; i < BLOB; i++)
            CHECK(memory[i] == byte_at(offset + i));
    }
}

static void reads(void)
{
    enum { BATCHES = 500, EACH = REQUESTS / BATCHES };
    static Batch *batches[BATCHES];
    static unsigned char memory[REQUESTS][BLOB];
    Reader *reader = martlet_reader_open(4, faulty);
    CHECK(reader);
    int dropped = 0;
    for (int b = 0; b < BATCHES; b++) {
        ReadRequest requests[EACH];
        struct iovec places[3 * EACH];
        int32_t positions[EACH];
        for (int i = 0; i < EACH; i++) /* the last batch asks for what lies beyond the end */
            ask(&requests[i], places + 3 * i, (b + (b == BATCHES - 1)) * EACH + i,
                memory[b * EACH + i]);
        batches[b] = martlet_submit(reader, requests, EACH, places, b % 3 == 0);
        CHECK(batches[b]);
        if (b % 5 == 0)
            dropped += martlet_cancel(batches[b], positions);
    }
    int cancelled = 0;
    for (int b = 0; b < BATCHES; b++) {
        int64_t answers[EACH];
        martlet_wait(batches[b], answers);
        for (int i = 0; i < EACH; i++) {
            cancelled += answers[i] == ECANCELED;
            check_answer(answers[i], (b + (b == BATCHES - 1)) * EACH + i, memory[b * EACH + i]);
        }
        martlet_batch_free(batches[b]);
    }
    CHECK(cancelled == dropped);
    martlet_reader_close(reader);
    martlet_reader_free(reader);
}

/* A read that waits until the gate is opened, and the offsets in the order of reading. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int64_t order[16];
static int entered;

static ssize_t gated(int file, const struct iovec *places, int count, off_t offset)
{
    __atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&gate);
    static int reads;
    order[reads++] = offset;
    pthread_mutex_unlock(&gate);
    (void)file;
    return (ssize_t)places[0].iov_len + (count > 1 ? (ssize_t)places[1].iov_len : 0);
}

static Batch *ask_for(Reader *reader, int64_t offset, int count, int lookahead)
{
    static char memory[8];
    ReadRequest requests[2];
    struct iovec places[2];
    for (int i = 0; i < count; i++) {
        requests[i] = (ReadRequest){offset + i, 0, 1};
        places[i] = (struct iovec){memory, 8};
    }
    return martlet_submit(reader, requests, count, places, lookahead);
}

/* Demand overtakes lookahead; what is cancelled is not read. */
static void urgency(void)
{
    Reader *reader = martlet_reader_open(1, gated);
    CHECK(reader);
    pthread_mutex_lock(&gate);
    Batch *batches[] = {ask_for(reader, 10, 1, 0), NULL, NULL, NULL};
    while (!__atomic_load_n(&entered, __ATOMIC_SEQ_CST))
        sched_yield();
    batches[1] = ask_for(reader, 20, 2, 1);
    batches[2] = ask_for(reader, 30, 2, 0);
    batches[3] = ask_for(reader, 40, 2, 1);
    int32_t dropped[2];
    CHECK(martlet_cancel(batches[3], dropped) == 2 && dropped[0] == 0 && dropped[1] == 1);
    CHECK(martlet_cancel(batches[3], dropped) == 0);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 4; i++) {
        int64_t answers[2] = {0, 0};
        martlet_wait(batches[i], answers);
        CHECK(answers[0] == (i == 3 ? ECANCELED : 0) && answers[1] == answers[0] * (i > 0));
        martlet_batch_free(batches[i]);
    }
    static const int64_t expected[] = {10, 30, 31, 20, 21};
    CHECK(entered == 5 && !memcmp(order, expected, sizeof expected));
    martlet_reader_close(reader);
    martlet_reader_free(reader);
}

/* No guess is begun while a demand is being read, though threads are idle. */
static void patience(void)
{
    Reader *reader = martlet_reader_open(4, gated);
    CHECK(reader);
    const int before = entered;
    pthread_mutex_lock(&gate);
    Batch *batches[] = {ask_for(reader, 50, 1, 0), NULL, NULL};
    while (__atomic_load_n(&entered, __ATOMIC_SEQ_CST) == before)
        sched_yield();
    batches[1] = ask_for(reader, 60, 2, 1);
    batches[2] = ask_for(reader, 70, 1, 0);
    while (__atomic_load_n(&entered, __ATOMIC_SEQ_CST) < before + 2)
        sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    CHECK(__atomic_load_n(&entered, __ATOMIC_SEQ_CST) == before + 2);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 3; i++) {
        int64_t answers[2] = {0, 0};
        martlet_wait(batches[i], answers);
        CHECK(!answers[0] && !answers[1]);
        martlet_batch_free(batches[i]);
    }
    CHECK(entered == before + 4 && order[before] / 10 != 6 && order[before + 1] / 10 != 6);
    martlet_reader_close(reader);
    martlet_reader_free(reader);
}

/* Closing answers what is queued; a batch outlives the threads. */
static void closing(void)
{
    static unsigned char memory[100][BLOB];
    ReadRequest requests[100];
    struct iovec places[300];
    int64_t answers[100];
    for (int i = 0; i < 100; i++)
        ask(&requests[i], places + 3 * i, i, memory[i]);
    Reader *reader = martlet_reader_open(2, faulty);
    CHECK(reader);
    Batch *before = martlet_submit(reader, requests, 100, places, 0);
    martlet_reader_close(reader);
    Batch *after = martlet_submit(reader, requests, 100, places, 0);
    CHECK(before && after);
    martlet_wait(before, answers);
    for (int i = 0; i < 100; i++)
        check_answer(answers[i], i, memory[i]);
    martlet_wait(after, answers);
    for (int i = 0; i < 100; i++)
        CHECK(answers[i] == ECANCELED);
    martlet_batch_free(before);
    martlet_batch_free(after);
    martlet_reader_free(reader);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (martlet_use_instruction_set(arguments[i]))
            continue; /* not on this machine */
        printf("%s\n", martlet_instruction_set());
        all_products();
        for (int pairs = 1; pairs < 40; pairs += 19) {
            experts(4, pairs);
            experts(5, pairs);
            experts(0, pairs);
        }
        for (int rows = 1; rows < 6; rows += 4) {
            rows_of_a_layer(rows, 37);
            rows_of_a_layer(rows, 64);
            delta_net(rows, 32, 32);
            delta_net(rows, 20, 28);
            attention(rows, 0, 32);
            attention(rows, 9, 20);
        }
    }
    reads();
    urgency();
    patience();
    closing();
    martlet_set_threads(1); /* ends the workers, whose memory a leak checker would report */
    return 0;
}
