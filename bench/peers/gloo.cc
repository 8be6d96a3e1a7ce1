// The driver for Gloo: processes over TCP on the loopback interface, its transport for one host.
// Halving-doubling comes from its class interface, which works in place, so the input is copied
// first; the ring is out of place by itself.
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"
#include "ranks.h"

namespace {

using HalvingDoubling = gloo::AllreduceHalvingDoubling<float>;

struct Session {
  std::shared_ptr<gloo::rendezvous::Context> context;
  bool ring = false;
  std::vector<float> input;
  std::vector<float> output;
  std::unique_ptr<HalvingDoubling> halving_doubling;
};

Session& session_of(void* state) {
  return *static_cast<Session*>(state);
}

void prepare(void* state, size_t count) {
  Session& session = session_of(state);
  if (session.ring) return;
  session.halving_doubling = std::make_unique<HalvingDoubling>(
      session.context, std::vector<float*>{session.output.data()}, static_cast<int>(count));
}

void write_input(void* state, size_t first, const float* values, size_t count) {
  std::memcpy(session_of(state).input.data() + first, values, count * sizeof(float));
}

void read_output(void* state, size_t first, float* values, size_t count) {
  std::memcpy(values, session_of(state).output.data() + first, count * sizeof(float));
}

void all_reduce(void* state, size_t count) {
  Session& session = session_of(state);
  if (!session.ring) {
    std::memcpy(session.output.data(), session.input.data(), count * sizeof(float));
    session.halving_doubling->run();
    return;
  }
  gloo::AllreduceOptions options(session.context);
  options.setInput(session.input.data(), count);
  options.setOutput(session.output.data(), count);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

double maximum(void* state, double value) {
  double largest = value;
  gloo::AllreduceOptions options(session_of(state).context);
  options.setOutput(&largest, 1);
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::max<double>));
  gloo::allreduce(options);
  return largest;
}

int run(int rank, int ranks, const char* algorithm, const char* store, const char* schedule_path) {
  const Schedule schedule = read_schedule(schedule_path);
  Session session;
  session.ring = std::string(algorithm) == "ring";
  session.input.resize(schedule.largest_bytes / sizeof(float));
  session.output.resize(schedule.largest_bytes / sizeof(float));
  session.context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  gloo::rendezvous::FileStore files(store);
  gloo::transport::tcp::attr address("127.0.0.1");
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(address);
  session.context->connectFullMesh(files, device);

  const Peer peer = {.rank = rank,
                     .ranks = ranks,
                     .state = &session,
                     .prepare = prepare,
                     .write_input = write_input,
                     .read_output = read_output,
                     .all_reduce = all_reduce,
                     .maximum = maximum};
  return measure(&peer, &schedule);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s RANKS PINNED ring|halving-doubling STORE_FOLDER SCHEDULE\n",
                 argv[0]);
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  const int rank = fork_ranks(ranks, std::atoi(argv[2]));
  try {
    return run(rank, ranks, argv[3], argv[4], argv[5]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}
