// One decode step of Gated DeltaNet (arXiv:2412.06464) for one value head:
//   q, k, v = silu(conv(mixed))                       depthwise, causal
//   q = q / |q| / sqrt(DK)   k = k / |k|              by key head
//   gamma = exp(-exp(a_log) softplus(a + dt_bias))    beta = sigmoid(b)
//   S = gamma S;  S = S + beta (v - S k) k'           S is [DV, DK]
//   y = rms_norm(S q) * silu(z)
//
// HK, HV key and value heads, DK, DV their dims, C = 2 HK DK + HV DV channels, TAPS of the convolution.
//   mixed [C] T      z [HV, DV] T      a, b [HV] T      conv_state [TAPS - 1, C] T
//   conv [C, TAPS] T, oldest first     a_log [HV] float    dt_bias [HV] T    norm [DV] T   eps float
//   state [HV, DV, DK] float           y [HV, DV] T
//   new_conv_state, new_state: as they came in
// Template: T, HK, HV, DK, DV, TAPS, SIMDGROUPS.
// Grid: one threadgroup of SIMDGROUPS a value head.

constexpr int REPEAT = HV / HK;
constexpr int KEYS = HK * DK;
constexpr int C = 2 * KEYS + HV * DV;
constexpr int THREADS = 32 * SIMDGROUPS;
constexpr int LANE_DIMS = (DK + 31) / 32;
constexpr int ROWS = (DV + SIMDGROUPS - 1) / SIMDGROUPS;  // rows of S a simdgroup owns

uint head = threadgroup_position_in_grid.x;
uint key_head = head / REPEAT;
int index = thread_index_in_threadgroup;
int lane = thread_index_in_simdgroup;
int simdgroup = simdgroup_index_in_threadgroup;

// All of S is asked for at once, before anything has to wait. Lane dims lie 32 apart.
float s[ROWS][LANE_DIMS];
#pragma unroll
for (int r = 0; r < ROWS; r++) {
  int row = simdgroup + r * SIMDGROUPS;
  for (int j = 0; j < LANE_DIMS; j++) {
    int i = lane + 32 * j;
    s[r][j] = row < DV && i < DK ? state[(head * DV + row) * DK + i] : 0;
  }
}

// The convolution of this head's q, k and v. Key heads are shared: their first value head writes.
threadgroup float qkv[2 * DK + DV];
for (int i = index; i < 2 * DK + DV; i += THREADS) {
  int channel = i < DK ? key_head * DK + i
      : i < 2 * DK     ? KEYS + key_head * DK + i - DK
                       : 2 * KEYS + head * DV + i - 2 * DK;
  float sum = 0;
  for (int tap = 0; tap < TAPS; tap++) {
    float input = float(tap < TAPS - 1 ? conv_state[tap * C + channel] : mixed[channel]);
    sum += input * float(conv[channel * TAPS + tap]);
  }
  qkv[i] = sum / (1 + metal::exp(-sum));
  if (i >= 2 * DK || head % REPEAT == 0) {
    for (int tap = 0; tap < TAPS - 2; tap++) {
      new_conv_state[tap * C + channel] = conv_state[(tap + 1) * C + channel];
    }
    new_conv_state[(TAPS - 2) * C + channel] = mixed[channel];
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

// Unit length, by every simdgroup for itself.
float q[LANE_DIMS];
float k[LANE_DIMS];
float q_square = 0;
float k_square = 0;
for (int j = 0; j < LANE_DIMS; j++) {
  int i = lane + 32 * j;
  q[j] = i < DK ? qkv[i] : 0;
  k[j] = i < DK ? qkv[DK + i] : 0;
  q_square += q[j] * q[j];
  k_square += k[j] * k[j];
}
float q_scale = metal::rsqrt(simd_sum(q_square) + 1e-6f) * metal::rsqrt(float(DK));
float k_scale = metal::rsqrt(simd_sum(k_square) + 1e-6f);
for (int j = 0; j < LANE_DIMS; j++) {
  q[j] *= q_scale;
  k[j] *= k_scale;
}

// softplus(t) = max(t, 0) + log(1 + u), u = exp(-|t|); the log's argument is rounded, so corrected.
float t = float(a[head]) + float(dt_bias[head]);
float u = metal::exp(-metal::abs(t));
float rounded = 1 + u;
float log_part = rounded == 1 ? u : metal::log(rounded) * (u / (rounded - 1));
float gamma = metal::exp(-metal::exp(a_log[head]) * (metal::max(t, 0.0f) + log_part));
float beta = 1 / (1 + metal::exp(-float(b[head])));

// The rows side by side, so that their sums overlap. Rows past DV hold zeros and are not written.
float delta[ROWS];
float answer[ROWS];
#pragma unroll
for (int r = 0; r < ROWS; r++) {
  float recalled = 0;
  for (int j = 0; j < LANE_DIMS; j++) {
    s[r][j] *= gamma;
    recalled += s[r][j] * k[j];
  }
  delta[r] = simd_sum(recalled);
}
#pragma unroll
for (int r = 0; r < ROWS; r++) {
  int row = simdgroup + r * SIMDGROUPS;
  delta[r] = row < DV ? beta * (qkv[2 * DK + row] - delta[r]) : 0;
  answer[r] = 0;
  for (int j = 0; j < LANE_DIMS; j++) {
    int i = lane + 32 * j;
    s[r][j] += delta[r] * k[j];
    answer[r] += s[r][j] * q[j];
    if (row < DV && i < DK) {
      new_state[(head * DV + row) * DK + i] = s[r][j];
    }
  }
}
threadgroup float rows[DV];
#pragma unroll
for (int r = 0; r < ROWS; r++) {
  int row = simdgroup + r * SIMDGROUPS;
  answer[r] = simd_sum(answer[r]);
  if (lane == 0 && row < DV) {
    rows[row] = answer[r];
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

float square = 0;
for (int i = lane; i < DV; i += 32) {
  square += rows[i] * rows[i];
}
float scale = metal::rsqrt(simd_sum(square) / DV + eps);
for (int i = index; i < DV; i += THREADS) {
  float gate = float(z[head * DV + i]);
  float normed = rows[i] * scale * float(norm[i]);
  y[head * DV + i] = T(normed * (gate / (1 + metal::exp(-gate))));
}
