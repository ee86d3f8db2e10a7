// The router of one token: softmax over all E experts in float32, the K likeliest, best first, equals
// by id, and their scores, which RENORMALIZE makes add up to 1.
//
//   logits [N, E] L     ids [N, K] uint32     scores [N, K] float
// Template: E, K (at most 32), RENORMALIZE.
// Grid: one simdgroup a token. A lane holds every 32nd expert. A NaN is taken last, so that ids are
// always experts.

constexpr int HELD = (E + 31) / 32;

uint token = threadgroup_position_in_grid.x;
int lane = thread_index_in_simdgroup;

float chances[HELD];
float most = -INFINITY;
for (int j = 0; j < HELD; j++) {
  int id = lane + 32 * j;
  chances[j] = id < E ? float(logits[token * E + id]) : -INFINITY;
  most = metal::max(most, chances[j]);
}
most = simd_max(most);
float total = 0;
for (int j = 0; j < HELD; j++) {
  chances[j] = metal::exp(chances[j] - most);
  total += lane + 32 * j < E ? chances[j] : 0;
}
total = simd_sum(total);

float left[HELD];  // what may still be taken: below -1 nothing, -1 a NaN
for (int j = 0; j < HELD; j++) {
  chances[j] = chances[j] / total;
  left[j] = lane + 32 * j >= E ? -2 : metal::isnan(chances[j]) ? -1 : chances[j];
}

uint my_id = 0;  // lane i keeps the i-th choice
float my_chance = 0;
for (int i = 0; i < K; i++) {
  float value = left[0];
  uint id = lane;
  for (int j = 1; j < HELD; j++) {
    id = left[j] > value ? lane + 32 * j : id;
    value = metal::max(left[j], value);
  }
  float highest = simd_max(value);
  id = simd_min(value == highest ? id : 0xffffffffu);
  for (int j = 0; j < HELD; j++) {
    left[j] = id == uint(lane + 32 * j) ? -2 : left[j];
  }
  if (lane == i) {
    my_id = id;
    my_chance = highest < 0 ? NAN : highest;
  }
}

float chosen = simd_sum(my_chance);
if (lane < K) {
  ids[token * K + lane] = my_id;
  scores[token * K + lane] = RENORMALIZE ? my_chance / chosen : my_chance;
}
