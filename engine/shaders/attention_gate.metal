// What stands behind gated attention: every head's output times the sigmoid of its gate.
//
// N tokens, H heads, D head dim.
//   y [H, N, D] T     q_gate [N, H, 2, D] T: query, then gate     out [N, H, D] T
// Template: T, H, D.
// Grid: a lane an output, (ceil(H D / 256) * 256, N).

int index = thread_position_in_grid.x;
int token = threadgroup_position_in_grid.y;
int tokens = threadgroups_per_grid.y;
if (index < H * D) {
  int head = index / D;
  int i = index % D;
  float gate = float(q_gate[((token * H + head) * 2 + 1) * D + i]);
  float value = float(y[(head * tokens + token) * D + i]);
  out[token * H * D + index] = T(value / (1 + metal::exp(-gate)));
}
