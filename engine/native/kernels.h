/* The inner loops for one instruction set. An isa_*.c file defines its name SET, LANES and TARGET
   and includes this; cpu.c chooses among the tables. */
#include <math.h>

#include "table.h"

#include "simd.h"

#include "product.h"
#include "rows.h"
#include "mixers.h"

#define JOIN(a, b) a##b
#define TABLE(set) JOIN(kernels_, set)
#define TEXT(set) NAME(set)
#define NAME(set) #set

const Kernels TABLE(SET) = {
    .name = TEXT(SET),
    .product = product,
    .row = row,
    .gated = gated,
    .norm = norm,
    .softmax = softmax,
    .combine = combine,
    .open_gate = open_gate,
    .convolve = convolve,
    .unit = unit,
    .delta_rule = delta_rule,
    .gated_norm = gated_norm,
    .gate_row = gate_row,
    .score = score,
    .weigh = weigh,
};
