/* Whatever the compiler targets by default: NEON on ARM, SSE2 on x86. */
#define LANES 8
#define TARGET
#define SET plain
#include "kernels.h"
