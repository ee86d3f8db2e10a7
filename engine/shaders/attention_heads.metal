// What stands before gated attention: RMS norm of every query and key head, then rotary positions
// on the first ROTARY of its D dims, dim i paired with dim i + ROTARY / 2.
//
// N tokens, H query heads, K key heads, D head dim.
//   q_gate [N, H, 2, D] T: query, then gate     k [N, K, D] T      q_norm, k_norm [D] T
//   frequencies [ROTARY / 2] float              past int: position of the first token    eps float
//   queries [H, N, D] T                         keys [K, N, D] T
// Template: T, H, K, D, ROTARY.
// Grid: one simdgroup a head and token, (32 (H + K), N).

constexpr int HALF = ROTARY / 2;
constexpr int LANE_DIMS = (D + 31) / 32;

int head = threadgroup_position_in_grid.x;
int token = threadgroup_position_in_grid.y;
int tokens = threadgroups_per_grid.y;
int lane = thread_index_in_simdgroup;
bool is_query = head < H;
int input = is_query ? (token * H + head) * 2 * D : (token * K + head - H) * D;

float held[LANE_DIMS];
float square = 0;
for (int j = 0; j < LANE_DIMS; j++) {
  int i = lane + 32 * j;
  held[j] = i < D ? float(is_query ? q_gate[input + i] : k[input + i]) : 0;
  square += held[j] * held[j];
}
float scale = metal::rsqrt(simd_sum(square) / D + eps);

threadgroup float normed[D];
for (int j = 0; j < LANE_DIMS; j++) {
  int i = lane + 32 * j;
  if (i < D) {
    normed[i] = held[j] * scale * float(is_query ? q_norm[i] : k_norm[i]);
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

for (int i = lane; i < D; i += 32) {
  float value = normed[i];
  if (i < ROTARY) {
    float angle = float(past + token) * frequencies[i % HALF];
    float other = i < HALF ? -normed[i + HALF] : normed[i - HALF];
    value = value * metal::cos(angle) + other * metal::sin(angle);
  }
  if (is_query) {
    queries[(head * tokens + token) * D + i] = T(value);
  } else {
    keys[((head - H) * tokens + token) * D + i] = T(value);
  }
}
