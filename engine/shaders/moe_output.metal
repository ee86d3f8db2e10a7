// The second half of a token's routed experts, and all that the token adds up:
//   out = residual + sum over j of scores[j] * down[slot_ids[j]] hidden[places[j]]
//       + sigmoid(shared_gate) * shared
// j counts the experts in the router's order, so the sum does not depend on the order in which the
// rows of `hidden` were computed.
//
// K experts, S slots, I inputs, D rows of down. A threadgroup owns ROWS of the outputs, and each of
// its simdgroups the same rows of one expert: what has to be fetched first, which slot, is waited
// for by all experts at once.
//   hidden [K, I] T     places [K] uint32: the row of hidden     slot_ids [K] uint32
//   down_w [S, D, I * BITS / 32] uint32, down_scales, down_biases [S, D, I / GROUP]
//   scores [K] float    shared [D] T    shared_gate [1] T    residual [D] T    out [D] T
// Template: T, I, D, K (at most 32), BITS (4 or 8), GROUP, ROWS (at most 32).
// Grid: ceil(D / ROWS) threadgroups of K simdgroups.

constexpr int WORDS = I * BITS / 32;
constexpr int GROUPS = I / GROUP;
constexpr int CHUNKS = I / CHUNK;
constexpr int CHUNK_WORDS = CHUNK * BITS / 32;
constexpr int LOADS = CHUNK * sizeof(T) / 16;
typedef typename Chunk<BITS>::Words Words;

int j = simdgroup_index_in_threadgroup;
int lane = thread_index_in_simdgroup;
uint first = threadgroup_position_in_grid.x * ROWS;
size_t input = size_t(places[j]) * CHUNKS * LOADS;
size_t slot_row = size_t(slot_ids[j]) * D;

float sums[ROWS];
for (int r = 0; r < ROWS; r++) {
  sums[r] = 0;
}
for (int step = 0; step < (CHUNKS + 31) / 32; step++) {
  int chunk = step * 32 + lane;
  if (CHUNKS % 32 != 0 && chunk >= CHUNKS) {
    break;
  }
  packed_uint4 loaded[LOADS];
  for (int i = 0; i < LOADS; i++) {
    loaded[i] = ((const device packed_uint4*)hidden)[input + chunk * LOADS + i];
  }
  float values[CHUNK];
  float sum = 0;
  for (int i = 0; i < CHUNK; i++) {
    float value = activation<T>(loaded, i);
    sum += value;
    values[i] = value * chunk_scale<BITS>(i);
  }
  int group = chunk * CHUNK / GROUP;
  for (int r = 0; r < ROWS; r++) {
    // A row past the end is computed as the last one and thrown away.
    size_t row = slot_row + metal::min(first + r, uint(D - 1));
    Words words = *(const device Words*)(down_w + row * WORDS + chunk * CHUNK_WORDS);
    size_t scale = row * GROUPS + group;
    sums[r] += float(down_scales[scale]) * dot(words, values) + float(down_biases[scale]) * sum;
  }
}

threadgroup float products[K * ROWS];
for (int r = 0; r < ROWS; r++) {
  float product = simd_sum(sums[r]);
  if (lane == 0) {
    products[j * ROWS + r] = product;
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

uint row = first + lane;
if (j == 0 && lane < ROWS && row < uint(D)) {
  float routed = 0;
  for (int i = 0; i < K; i++) {
    routed += scores[i] * products[i * ROWS + lane];
  }
  float share = 1 / (1 + metal::exp(-float(shared_gate[0])));
  out[row] = T(float(residual[row]) + (routed + share * float(shared[row])));
}
