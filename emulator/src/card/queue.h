// Streams, events and captured graphs: operations in the order in which a card may run them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "emulator/card.h"

struct CUevent_st {
  std::uint64_t recorded = 0, completed = 0;  // records that were enqueued, and that have run
  bool captured = false;                      // its last record went into a graph
  std::chrono::steady_clock::time_point when;
};

namespace emulator {

struct Operation {
  std::function<void()> run;  // empty for records and waits
  cudaEvent_t event = nullptr;
  std::uint64_t version = 0;  // of the event
  bool records = false;
};

}  // namespace emulator

struct CUstream_st {
  std::uint64_t serial = 0;
  bool waits_for_null = true;  // a blocking stream
  std::deque<emulator::Operation> queue;
};

struct CUgraph_st {
  std::vector<emulator::Operation> operations;
};

struct CUgraphExec_st {
  std::vector<emulator::Operation> operations;
};

namespace emulator {

class Queues {
 public:
  StreamMode mode = StreamMode::kEager;

  cudaStream_t create_stream(bool waits_for_null);
  bool destroy_stream(cudaStream_t stream);
  cudaEvent_t create_event();
  bool destroy_event(cudaEvent_t event);
  bool knows(cudaStream_t stream) const;
  bool knows(cudaEvent_t event) const;

  void enqueue(cudaStream_t stream, Operation operation);
  void record(cudaEvent_t event, cudaStream_t stream);
  void wait(cudaStream_t stream, cudaEvent_t event);
  void finish(cudaStream_t stream);
  void finish(cudaEvent_t event);
  void finish_all();
  bool idle(cudaStream_t stream) { return resolve(stream).queue.empty(); }

  void begin_capture(cudaStream_t stream);
  std::vector<Operation> end_capture();
  bool capturing() const { return origin_ != nullptr; }
  bool captures(cudaStream_t stream) const { return captured_streams_.contains(stream); }

 private:
  CUstream_st& resolve(cudaStream_t stream) { return stream ? *stream : null_stream_; }
  bool ready(const Operation& operation) const;
  void run(Operation& operation);
  // Runs operations, the youngest stream's first, until `done`.
  template <typename Done>
  void run_until(Done done);

  CUstream_st null_stream_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::vector<std::unique_ptr<CUevent_st>> events_;
  std::uint64_t next_serial_ = 1;
  cudaStream_t origin_ = nullptr;
  std::set<cudaStream_t> captured_streams_;
  std::vector<Operation> captured_;
};

}  // namespace emulator
