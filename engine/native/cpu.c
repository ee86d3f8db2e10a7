/* Chooses the inner loops for the processor that runs. */
#include <errno.h>
#include <string.h>

#include "table.h"

const Kernels *kernels = &kernels_plain;

#if defined(__x86_64__)
#include <cpuid.h>

static const Kernels *const best_first[] = {&kernels_avx512, &kernels_avx2, &kernels_plain};

/* The vector registers that the system saves: bit 1 SSE, 2 AVX, 5 to 7 AVX-512. */
static uint32_t saved_registers(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int runs(const Kernels *k)
{
    const uint32_t avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
    uint32_t a, b, c, d;
    if (k == &kernels_plain)
        return 1;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA))
        return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if (k == &kernels_avx2)
        return (b & bit_AVX2) && (saved_registers() & 0x06) == 0x06;
    return (b & avx512) == avx512 && (saved_registers() & 0xe6) == 0xe6;
}
#else
static const Kernels *const best_first[] = {&kernels_plain};

static int runs(const Kernels *k)
{
    return k == &kernels_plain;
}
#endif

enum { SETS = sizeof best_first / sizeof *best_first };

__attribute__((constructor)) static void choose(void)
{
    for (int i = SETS; i-- > 0;)
        if (runs(best_first[i]))
            kernels = best_first[i];
}

const char *martlet_instruction_set(void)
{
    return kernels->name;
}

int martlet_use_instruction_set(const char *name)
{
    for (int i = 0; i < SETS; i++)
        if (!strcmp(best_first[i]->name, name) && runs(best_first[i])) {
            kernels = best_first[i];
            return 0;
        }
    return ENOTSUP;
}
