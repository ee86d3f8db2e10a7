#if defined(__x86_64__)
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define SET avx2
#include "kernels.h"
#endif
