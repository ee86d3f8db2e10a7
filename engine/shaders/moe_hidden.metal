// The first half of a token's routed experts: hidden = silu(gate x) * (up x), a row an expert.
//
// N experts, S slots, D inputs, I rows of gate and of up. Every simdgroup owns ROWS rows of one
// expert, and nothing else: the scheduler balances them.
//   x [D] T                               slot_ids [N] uint32
//   gate_w, up_w [S, I, D * BITS / 32] uint32, their scales and biases [S, I, D / GROUP]
//   hidden [N, I] T
// Template: T, D, I, BITS (4 or 8), GROUP, ROWS.
// Grid: (ceil(I / (ROWS * simdgroups)) * 32 * simdgroups, N).

constexpr int WORDS = D * BITS / 32;
constexpr int GROUPS = D / GROUP;
constexpr int CHUNKS = D / CHUNK;
constexpr int CHUNK_WORDS = CHUNK * BITS / 32;
constexpr int LOADS = CHUNK * sizeof(T) / 16;
typedef typename Chunk<BITS>::Words Words;

uint expert = threadgroup_position_in_grid.y;
uint lane = thread_index_in_simdgroup;
uint first = (thread_position_in_grid.x / 32) * ROWS;
if (first >= uint(I)) {
  return;
}
size_t slot_row = size_t(slot_ids[expert]) * I;

// A row past the end is computed as the last one and thrown away.
size_t row[ROWS];
float gate[ROWS];
float up[ROWS];
for (int r = 0; r < ROWS; r++) {
  row[r] = slot_row + metal::min(first + r, uint(I - 1));
  gate[r] = 0;
  up[r] = 0;
}

#pragma unroll
for (int step = 0; step < (CHUNKS + 31) / 32; step++) {
  int chunk = step * 32 + lane;
  if (CHUNKS % 32 != 0 && chunk >= CHUNKS) {
    break;
  }
  packed_uint4 loaded[LOADS];
  for (int i = 0; i < LOADS; i++) {
    loaded[i] = ((const device packed_uint4*)x)[chunk * LOADS + i];
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
    size_t word = row[r] * WORDS + chunk * CHUNK_WORDS;
    size_t scale = row[r] * GROUPS + group;
    Words gate_words = *(const device Words*)(gate_w + word);
    Words up_words = *(const device Words*)(up_w + word);
    gate[r] += float(gate_scales[scale]) * dot(gate_words, values) + float(gate_biases[scale]) * sum;
    up[r] += float(up_scales[scale]) * dot(up_words, values) + float(up_biases[scale]) * sum;
  }
}

for (int r = 0; r < ROWS; r++) {
  float g = simd_sum(gate[r]);
  float u = simd_sum(up[r]);
  if (lane == 0 && first + r < uint(I)) {
    hidden[size_t(expert) * I + first + r] = T(g / (1 + metal::exp(-g)) * u);
  }
}
