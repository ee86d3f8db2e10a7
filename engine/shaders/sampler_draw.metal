// The K best of all blocks, and from them the token: temperature, top-p, min-p, and a draw by Gumbel
// noise, as `engine.sampling` draws it with the same key. Without DRAW, the best.
//
// V vocabulary, B blocks.
//   candidates [B, K] uint64, best first (see best.h)
//   settings [3] float: temperature, top-p, log of min-p      key [2] uint32
//   token uint32: V where the best score is not finite         next_key [2] uint32
// Template: V, B, K, SIMDGROUPS, DRAW.
// Grid: one threadgroup of SIMDGROUPS.

constexpr int LANES = 32 * SIMDGROUPS;
constexpr int LISTS = B < K ? B : K;
constexpr int LISTED = LISTS * K - LISTS * (LISTS - 1) / 2;

int lane = thread_index_in_threadgroup;

// Of the blocks with the K best heads, what can be among the K best: of the first all candidates, of
// each further one fewer, because as many heads are better.
threadgroup ulong heads[B];
threadgroup ulong lists[LISTED];
for (int at = lane; at < B; at += LANES) {
  heads[at] = candidates[at * K];
}
threadgroup_barrier(mem_flags::mem_threadgroup);
for (int at = lane; at < B; at += LANES) {
  int rank = 0;
  for (int i = 0; i < B; i++) {
    rank += heads[i] > heads[at];
  }
  if (rank < LISTS) {
    int start = rank * K - rank * (rank - 1) / 2;
    for (int i = 0; i < K - rank; i++) {
      lists[start + i] = candidates[at * K + i];
    }
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

threadgroup ulong best[K];
for (int at = lane; at < LISTED; at += LANES) {
  int rank = 0;
  for (int i = 0; i < LISTED; i++) {
    rank += lists[i] > lists[at];
  }
  if (rank < K) {
    best[rank] = lists[at];
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

float highest = key_score(best[0]);
bool sound = metal::abs(highest) < INFINITY;

if (!DRAW) {
  if (lane == 0) {
    token[0] = sound ? key_id(best[0]) : uint(V);
    next_key[0] = key[0];
    next_key[1] = key[1];
  }
  return;
}

// The first simdgroup draws; candidate i is lane i's, and lane i - 32's.
threadgroup float chances[K];
float total = 0;
for (int i = lane % 32; i < K; i += 32) {
  total += metal::exp((key_score(best[i]) - highest) / settings[0]);
}
total = simd_sum(total);
if (lane < 32) {
  for (int i = lane; i < K; i += 32) {
    chances[i] = metal::exp((key_score(best[i]) - highest) / settings[0]) / total;
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);
if (lane >= 32) {
  return;
}

Words old_key = {key[0], key[1]};
Words halves[2] = {threefry(old_key, 0, 2), threefry(old_key, 1, 3)};
Words draw_key = {halves[0].y, halves[1].y};
float my_score = -INFINITY;
uint my_choice = 0xffffffffu;
for (int i = lane; i < K; i += 32) {
  float likelier = 0;
  for (int j = 0; j < i; j++) {
    likelier += chances[j];
  }
  float score = (key_score(best[i]) - highest) / settings[0];
  bool kept = likelier < settings[1] && score >= settings[2];
  float drawn = kept ? score + gumbel(draw_key, i, K) : -INFINITY;
  bool better = my_choice == 0xffffffffu || drawn > my_score;
  my_choice = better ? i : my_choice;
  my_score = better ? drawn : my_score;
}
float winning = simd_max(my_score);
uint choice = simd_min(my_score == winning ? my_choice : 0xffffffffu);
if (lane == 0) {
  token[0] = sound ? key_id(best[choice]) : uint(V);
  next_key[0] = halves[0].x;
  next_key[1] = halves[1].x;
}
