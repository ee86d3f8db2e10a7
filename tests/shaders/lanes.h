// Lanes of a GPU on one processor core: a fiber each, switched at barriers and simd operations.
//
// A threadgroup's simdgroups run one after the other, each as far as the next barrier, in an order
// that the caller permutes; so do the lanes of a simdgroup between two simd operations. Two lanes
// that touch one place without a barrier between them meet in both orders over the schedules
// `forward` and `backward`, and what they compute then differs: that is how races are found.
// Stricter than Metal: every lane of a simdgroup takes part in a simd operation, every lane of the
// threadgroup in a barrier. x86-64 and arm64, ELF.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>
#include <unistd.h>

#include "host.h"

namespace lanes {

constexpr size_t STACK_BYTES = 128 << 10;  // sanitizers widen the frames

[[noreturn]] inline void fail(const char* what) {
  dprintf(2, "%s\n", what);  // not stderr: that lies in .bss
  _exit(3);
}

}  // namespace lanes

// Saves the callee-saved registers on this stack, and goes on with those saved at `to`.
extern "C" void lanes_switch(void** from, void* to);
extern "C" void lanes_start();
#if defined(__x86_64__)
asm(R"(
  .text
lanes_switch:
  push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
  ret
lanes_start:
  and $-16, %rsp
  call lanes_run
)");
#elif defined(__aarch64__)
asm(R"(
  .text
lanes_switch:
  stp x19, x20, [sp, #-160]!
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp], #160
  ret
lanes_start:
  bl lanes_run
)");
#else
#error "lanes.h knows x86-64 and arm64"
#endif

namespace lanes {

enum class Wait : uint8_t { ready, simd, barrier, done };

struct Lane {
  void* stack_pointer;
  Wait wait;
};

struct Simdgroup {
  const char* operation;  // what the lanes that arrived are waiting in
  void (*meet)(Values&);
  Values values;
};

// All state of a running threadgroup. In .data: .bss is the threadgroup's memory (see poison()).
struct Group {
  std::vector<Lane> lanes;
  std::vector<Simdgroup> simdgroups;
  std::vector<int> simd_order, lane_order;
  unsigned current;
  const char* barrier;
  void (*body)(unsigned lane, void* context);
  void* context;
  void* home;  // stack pointer of the scheduler
};
__attribute__((section(".data"))) static Group* group = nullptr;

// Leave the running lane until the scheduler comes back to it.
inline void suspend(Wait why) {
  Lane& lane = group->lanes[group->current];
  lane.wait = why;
  lanes_switch(&lane.stack_pointer, group->home);
}

extern "C" inline __attribute__((used)) void lanes_run() {
  for (;;) {
    group->body(group->current, group->context);
    suspend(Wait::done);
  }
}

inline void resume(unsigned index) {
  group->current = index;
  lanes_switch(&group->home, group->lanes[index].stack_pointer);
}

inline void add_lane() {
  char* stack = static_cast<char*>(std::aligned_alloc(64, STACK_BYTES));
  auto** top = reinterpret_cast<void**>(stack + STACK_BYTES) - 32;
  std::memset(top, 0, 32 * sizeof *top);
#if defined(__x86_64__)
  top[6] = reinterpret_cast<void*>(&lanes_start);  // popped by `ret`
#else
  top[11] = reinterpret_cast<void*>(&lanes_start);  // x30
#endif
  group->lanes.push_back({top, Wait::ready});
}

uint64_t exchange(const char* operation, uint64_t value, void (*meet)(Values&)) {
  unsigned lane = group->current;
  Simdgroup& simdgroup = group->simdgroups[lane / SIMD_WIDTH];
  const char* there = simdgroup.operation;
  if (there && there != operation && std::strcmp(there, operation)) {
    fail("lanes of one simdgroup wait in different simd operations");
  }
  simdgroup.operation = operation;
  simdgroup.meet = meet;
  uint64_t& mine = simdgroup.values[lane % SIMD_WIDTH];
  mine = value;
  suspend(Wait::simd);
  return mine;
}

void barrier() { suspend(Wait::barrier); }

// Run one simdgroup until every lane of it is at a barrier or done.
inline void run_simdgroup(int index) {
  Simdgroup& simdgroup = group->simdgroups[index];
  Lane* lanes = &group->lanes[index * SIMD_WIDTH];
  for (;;) {
    int counts[4] = {0, 0, 0, 0};
    for (int lane : group->lane_order) {
      if (lanes[lane].wait == Wait::ready) resume(index * SIMD_WIDTH + lane);
      counts[int(lanes[lane].wait)]++;
    }
    if (counts[int(Wait::simd)] == 0) return;
    if (counts[int(Wait::simd)] != SIMD_WIDTH) fail("a simd operation not reached by every lane");
    simdgroup.operation = nullptr;
    simdgroup.meet(simdgroup.values);
    for (int lane = 0; lane < SIMD_WIDTH; lane++) lanes[lane].wait = Wait::ready;
  }
}

// Fill the threadgroup arrays, which are function-local statics and so lie in .bss, with garbage.
extern "C" char __bss_start[], _end[];
__attribute__((no_sanitize("address"))) inline void poison(uint8_t pattern) {
  for (volatile char* at = __bss_start; at < _end; at++) *at = char(pattern);
}

struct Schedule {
  int seed;  // 0: forward, 1: backward, else shuffled
  uint8_t garbage() const { return seed == 0 ? 0xff : seed == 1 ? 0x3c : 0xc1; }
  std::vector<int> order(int count) const {
    std::vector<int> indices(count);
    std::iota(indices.begin(), indices.end(), 0);
    if (seed == 1) std::reverse(indices.begin(), indices.end());
    if (seed > 1) std::shuffle(indices.begin(), indices.end(), std::mt19937(seed));
    return indices;
  }
};

// Run one threadgroup of `count` lanes to its end.
inline void run_threadgroup(
    unsigned count, const Schedule& schedule, void (*body)(unsigned, void*), void* context) {
  if (count % SIMD_WIDTH) fail("a threadgroup that is no multiple of 32 lanes");
  if (!group) group = new Group();
  while (group->lanes.size() < count) add_lane();
  group->simdgroups.assign(count / SIMD_WIDTH, Simdgroup());
  group->simd_order = schedule.order(count / SIMD_WIDTH);
  group->lane_order = schedule.order(SIMD_WIDTH);
  group->body = body;
  group->context = context;
  poison(schedule.garbage());
  for (unsigned lane = 0; lane < count; lane++) group->lanes[lane].wait = Wait::ready;
  for (;;) {
    for (int simdgroup : group->simd_order) run_simdgroup(simdgroup);
    unsigned done = 0;
    for (unsigned lane = 0; lane < count; lane++) done += group->lanes[lane].wait == Wait::done;
    if (done == count) return;
    if (done) fail("a barrier not reached by every lane");
    for (unsigned lane = 0; lane < count; lane++) group->lanes[lane].wait = Wait::ready;
  }
}

}  // namespace lanes
