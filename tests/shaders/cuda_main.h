// Runs one kernel on an NVIDIA GPU. Included after it and after
//   ON_GPU void kernel_lane(void* const* buffers, const Place& place)
// A request comes on stdin, as host_main.cpp takes it. By the argument:
//   run    once, the outputs poisoned before, and writes their bytes
//   bare   the same without the poison, for a tool that looks for reads of what nobody wrote
//   time   over as many copies of its buffers as overflow the cache, in one graph; prints the bytes,
//          the microseconds of a launch and of a copy kernel that moves as many bytes, and the rate
//          of a large copy

#pragma once

#undef device
#undef constant
#undef thread
#undef threadgroup
#undef inline

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int MOST_BUFFERS = 24;
constexpr size_t OVERFLOWING_BYTES = 512u << 20;  // several times the 60 MB of L2
constexpr int REPLAYS = 21;

#define CHECK(call)                                                             \
  do {                                                                          \
    cudaError_t error = (call);                                                 \
    if (error != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));       \
      std::exit(5);                                                             \
    }                                                                           \
  } while (0)

struct Buffers {
  void* at[MOST_BUFFERS];
};

__global__ void kernel_entry(Buffers buffers) { kernel_lane(buffers.at, place_here()); }

__global__ void copy_entry(const uint4* from, uint4* to, size_t count) {
  size_t step = size_t(gridDim.x) * blockDim.x;
  size_t first = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (size_t i = first; i < count; i += step) to[i] = from[i];
}

struct Request {
  int32_t head[9];
  std::vector<std::vector<char>> inputs;
  std::vector<size_t> outputs;
  dim3 blocks() const {
    return dim3(head[0] / head[3], head[1] / head[4], head[2] / head[5]);
  }
  dim3 threads() const { return dim3(head[3], head[4], head[5]); }
  size_t bytes() const {
    size_t sum = 0;
    for (auto& input : inputs) sum += input.size();
    for (size_t output : outputs) sum += output;
    return sum;
  }
};

static void read_all(void* to, size_t count) {
  if (std::fread(to, 1, count, stdin) != count) std::exit(4);
}

static Request read_request() {
  Request request;
  read_all(request.head, sizeof request.head);
  for (int i = 0; i < request.head[7]; i++) {
    int64_t bytes;
    read_all(&bytes, sizeof bytes);
    request.inputs.emplace_back(bytes);
    read_all(request.inputs.back().data(), bytes);
  }
  for (int i = 0; i < request.head[8]; i++) {
    int64_t bytes;
    read_all(&bytes, sizeof bytes);
    request.outputs.push_back(bytes);
  }
  return request;
}

static Buffers allocate(const Request& request, bool poison) {
  Buffers buffers = {};
  int index = 0;
  for (auto& input : request.inputs) {
    CHECK(cudaMalloc(&buffers.at[index], std::max<size_t>(input.size(), 1)));
    CHECK(cudaMemcpy(buffers.at[index++], input.data(), input.size(), cudaMemcpyHostToDevice));
  }
  for (size_t bytes : request.outputs) {
    CHECK(cudaMalloc(&buffers.at[index], bytes));
    if (poison) CHECK(cudaMemset(buffers.at[index], 0xc1, bytes));
    index++;
  }
  return buffers;
}

static void run_once(const Request& request, bool poison) {
  Buffers buffers = allocate(request, poison);
  kernel_entry<<<request.blocks(), request.threads()>>>(buffers);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  for (size_t i = 0; i < request.outputs.size(); i++) {
    std::vector<char> data(request.outputs[i]);
    void* from = buffers.at[request.inputs.size() + i];
    CHECK(cudaMemcpy(data.data(), from, data.size(), cudaMemcpyDeviceToHost));
    std::fwrite(data.data(), 1, data.size(), stdout);
  }
}

// Median microseconds a launch of `count` launches recorded into one graph.
template <typename Record>
static double time_graph(int count, Record record) {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < count; i++) record(i, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&replay, graph, 0));
  cudaEvent_t start, end;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < REPLAYS + 3; i++) {
    CHECK(cudaEventRecord(start, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float milliseconds;
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    if (i >= 3) times.push_back(milliseconds * 1000 / count);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static double time_copy(size_t bytes_moved, int copies) {
  size_t count = std::max<size_t>(bytes_moved / 2 / sizeof(uint4), 1);
  char *from, *to;
  CHECK(cudaMalloc(&from, count * sizeof(uint4) * copies));
  CHECK(cudaMalloc(&to, count * sizeof(uint4) * copies));
  CHECK(cudaMemset(from, 1, count * sizeof(uint4) * copies));
  int blocks = int(std::min<size_t>((count + 255) / 256, 132 * 16));
  double time = time_graph(copies, [&](int i, cudaStream_t stream) {
    size_t offset = i * count * sizeof(uint4);
    copy_entry<<<blocks, 256, 0, stream>>>((const uint4*)(from + offset), (uint4*)(to + offset), count);
  });
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return time;
}

static void time_request(const Request& request) {
  size_t bytes = request.bytes();
  int copies = int(std::min<size_t>(std::max<size_t>(OVERFLOWING_BYTES / bytes, 8), 512));
  std::vector<Buffers> buffers;
  for (int i = 0; i < copies; i++) buffers.push_back(allocate(request, true));
  double launch = time_graph(copies, [&](int i, cudaStream_t stream) {
    kernel_entry<<<request.blocks(), request.threads(), 0, stream>>>(buffers[i]);
  });
  double copy = time_copy(bytes, copies);
  double large = time_copy(size_t(4) << 30, 1);
  double large_rate = double(size_t(4) << 30) / large / 1e6;
  std::printf(
      "{\"bytes\": %zu, \"us\": %.3f, \"same_size_copy_us\": %.3f, \"copy_tb_s\": %.3f}\n",
      bytes, launch, copy, large_rate);
}

int main(int count, char** arguments) {
  std::string mode = count > 1 ? arguments[1] : "run";
  Request request = read_request();
  if (mode == "time") time_request(request);
  else run_once(request, mode == "run");
  return 0;
}
