// Serves launches of one kernel over stdin and stdout until stdin ends. The kernel is linked in. A request and its answer, native byte order:
//   int32 grid[3], threadgroup[3], schedules, inputs, outputs
//   inputs times: int64 bytes, then that many bytes; outputs times: int64 bytes
//   -> the outputs' bytes, one after the other
// Every buffer is its own allocation, so that the address sanitizer sees the first byte beyond.

#include "lanes.h"

#undef threadgroup

void kernel_lane(void* const* buffers, const Place& place);

namespace host {

inline bool read_all(void* to, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t got = read(0, static_cast<char*>(to) + done, count - done);
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

inline void write_all(const void* from, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t put = write(1, static_cast<const char*>(from) + done, count - done);
    if (put <= 0) _exit(4);
    done += put;
  }
}

struct Buffer {
  size_t bytes;
  uint8_t* data;
};

struct Launch {
  uint32_t grid[3], threadgroup[3];
  std::vector<void*> buffers;
  uint32_t at[3];  // the running threadgroup
};

inline void run_lane(unsigned lane, void* context) {
  const Launch& launch = *static_cast<const Launch*>(context);
  const uint32_t* size = launch.threadgroup;
  const uint32_t in_group[3] = {lane % size[0], lane / size[0] % size[1], lane / size[0] / size[1]};
  Place place;
  place.threadgroup_position_in_grid = {launch.at[0], launch.at[1], launch.at[2]};
  place.threadgroups_per_grid = {
      launch.grid[0] / size[0], launch.grid[1] / size[1], launch.grid[2] / size[2]};
  place.simdgroup_index_in_threadgroup = lane / lanes::SIMD_WIDTH;
  place.thread_index_in_simdgroup = lane % lanes::SIMD_WIDTH;
  place.thread_index_in_threadgroup = lane;
  place.thread_position_in_grid = {
      launch.at[0] * size[0] + in_group[0],
      launch.at[1] * size[1] + in_group[1],
      launch.at[2] * size[2] + in_group[2]};
  kernel_lane(launch.buffers.data(), place);
}

inline void run_grid(Launch& launch, const lanes::Schedule& schedule) {
  uint32_t counts[3], total = 1;
  for (int axis = 0; axis < 3; axis++) {
    if (launch.grid[axis] % launch.threadgroup[axis]) lanes::fail("a grid with a partial threadgroup");
    counts[axis] = launch.grid[axis] / launch.threadgroup[axis];
    total *= counts[axis];
  }
  unsigned lanes_each = launch.threadgroup[0] * launch.threadgroup[1] * launch.threadgroup[2];
  for (int index : schedule.order(total)) {
    launch.at[0] = index % counts[0];
    launch.at[1] = index / counts[0] % counts[1];
    launch.at[2] = index / counts[0] / counts[1];
    lanes::run_threadgroup(lanes_each, schedule, run_lane, &launch);
  }
}

// The outputs under every schedule: what an output holds may depend on neither.
inline void run_schedules(Launch& launch, std::vector<Buffer>& outputs, int schedules) {
  std::vector<std::vector<uint8_t>> first;
  for (int seed = 0; seed < schedules; seed++) {
    lanes::Schedule schedule{seed};
    for (Buffer& output : outputs) std::memset(output.data, schedule.garbage(), output.bytes);
    run_grid(launch, schedule);
    for (size_t i = 0; i < outputs.size(); i++) {
      const uint8_t* data = outputs[i].data;
      if (seed == 0) first.emplace_back(data, data + outputs[i].bytes);
      else if (std::memcmp(first[i].data(), data, outputs[i].bytes)) {
        lanes::fail("an output that depends on the order of lanes, or was never written");
      }
    }
  }
}

inline int serve() {
  for (;;) {
    int32_t head[9];
    if (!read_all(head, sizeof head)) return 0;
    Launch launch;
    std::memcpy(launch.grid, head, sizeof launch.grid);
    std::memcpy(launch.threadgroup, head + 3, sizeof launch.threadgroup);
    std::vector<Buffer> inputs(head[7]), outputs(head[8]);
    for (auto* buffers : {&inputs, &outputs}) {
      for (Buffer& buffer : *buffers) {
        int64_t bytes;
        if (!read_all(&bytes, sizeof bytes)) return 4;
        buffer = {size_t(bytes), static_cast<uint8_t*>(std::malloc(bytes))};
        if (buffers == &inputs && !read_all(buffer.data, bytes)) return 4;
        launch.buffers.push_back(buffer.data);
      }
    }
    run_schedules(launch, outputs, head[6]);
    for (Buffer& output : outputs) write_all(output.data, output.bytes);
    for (Buffer& buffer : inputs) std::free(buffer.data);
    for (Buffer& buffer : outputs) std::free(buffer.data);
  }
}

}  // namespace host

int main() { return host::serve(); }
