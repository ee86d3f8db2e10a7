#if defined(__x86_64__)
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define SET avx512
#include "kernels.h"
#endif
