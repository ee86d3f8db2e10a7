// The second half of a token's routed experts, and all that the token adds up:
//   out = residual + sum over j of scores[j] * down[slot_ids[j]] hidden[places[j]]
//       + sigmoid(shared_gate) * shared
// j counts the experts in the router's order, so the sum does not depend on the order in which the
// rows of `hidden` were computed.
//
// K experts, S slots, I inputs, D rows of down. Every simdgroup owns ROWS of the outputs.
//   hidden [K, I] T     places [K] uint32: the row of hidden     slot_ids [K] uint32
//   down_w [S, D, I * BITS / 32] uint32, down_scales, down_biases [S, D, I / GROUP]
//   scores [K] float    shared [D] T    shared_gate [1] T    residual [D] T    out [D] T
// Template: T, I, D, K, BITS (4 or 8), GROUP, ROWS.
// Grid: ceil(D / (ROWS * simdgroups)) * 32 * simdgroups.

constexpr int WORDS = I * BITS / 32;
constexpr int GROUPS = I / GROUP;
constexpr int CHUNK_WORDS = CHUNK * BITS / 32;
typedef typename Chunk<BITS>::Words Words;

uint lane = thread_index_in_simdgroup;
uint first = (thread_position_in_grid.x / 32) * ROWS;
if (first >= uint(D)) {
  return;
}

float sums[ROWS];
for (int r = 0; r < ROWS; r++) {
  sums[r] = 0;
}

for (int j = 0; j < K; j++) {
  float score = scores[j];
  size_t input = size_t(places[j]) * I;
  size_t slot_row = size_t(slot_ids[j]) * D;
  for (int chunk = lane; chunk < I / CHUNK; chunk += 32) {
    float values[CHUNK];
    float sum = 0;
    for (int i = 0; i < CHUNK; i++) {
      float value = float(hidden[input + chunk * CHUNK + i]);
      sum += value;
      values[i] = value * chunk_scale<BITS>(i);
    }
    int group = chunk * CHUNK / GROUP;
    for (int r = 0; r < ROWS; r++) {
      // A row past the end is computed as the last one and thrown away.
      size_t row = slot_row + metal::min(first + r, uint(D - 1));
      Words words = *(const device Words*)(down_w + row * WORDS + chunk * CHUNK_WORDS);
      size_t scale = row * GROUPS + group;
      float product =
          float(down_scales[scale]) * dot(words, values) + float(down_biases[scale]) * sum;
      sums[r] += score * product;
    }
  }
}

float share = 1 / (1 + metal::exp(-float(shared_gate[0])));
for (int r = 0; r < ROWS; r++) {
  float routed = simd_sum(sums[r]);
  uint row = first + r;
  if (lane == 0 && row < uint(D)) {
    out[row] = T(float(residual[row]) + (routed + share * float(shared[row])));
  }
}
