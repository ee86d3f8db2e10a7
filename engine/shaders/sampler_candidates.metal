// The K best of every block of logits, after bias and penalties.
//
// V vocabulary, B blocks of 32 * SIMDGROUPS * HELD logits, a lane of a block holding HELD of them.
//   logits [V] L            bias [V] float            prompted [V] bool        counts [V + 1] float
//   penalties [3] float: repetition, frequency, presence
//   keys [B, K] uint64, best first (see best.h); a NaN ranks as an infinity, what lies beyond V as
//   minus infinity
// Template: V, K (at most 32 * SIMDGROUPS), HELD, SIMDGROUPS, BIASED, PENALIZED.
// Grid: one threadgroup a block.

constexpr int LANES = 32 * SIMDGROUPS;

uint block = threadgroup_position_in_grid.x;
int lane = thread_index_in_threadgroup;

ulong held[HELD];
for (int j = 0; j < HELD; j++) {
  uint id = block * LANES * HELD + j * LANES + lane;
  float score = -INFINITY;
  if (id < uint(V)) {
    score = float(logits[id]);
    if (BIASED) {
      score += bias[id];
    }
    if (PENALIZED) {
      float count = counts[id];
      float divided = score / penalties[0];
      float multiplied = score * penalties[0];
      if (prompted[id] || count > 0) {
        score = penalties[0] > 1 ? metal::min(divided, multiplied) : metal::max(divided, multiplied);
      }
      score = score - penalties[1] * count;
      score = score - (count > 0 ? penalties[2] : 0);
    }
    score = metal::isnan(score) ? INFINITY : score;
  }
  held[j] = best_key(score, id);
}
sort_descending<HELD>(held);

threadgroup ulong heads[LANES];
heads[lane] = held[0];
threadgroup_barrier(mem_flags::mem_threadgroup);

// Of the K lists with the best heads, all that is held.
threadgroup ulong lists[K * HELD];
int head_rank = 0;
for (int i = 0; i < LANES; i++) {
  head_rank += heads[i] > held[0];
}
if (head_rank < K) {
  for (int j = 0; j < HELD; j++) {
    lists[head_rank * HELD + j] = held[j];
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

for (int at = lane; at < K * HELD; at += LANES) {
  ulong key = lists[at];
  int rank = 0;
  for (int i = 0; i < K * HELD; i++) {
    rank += lists[i] > key;
  }
  if (rank < K) {
    keys[block * K + rank] = key;
  }
}
