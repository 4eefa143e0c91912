#include "card/queue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace emulator {
namespace {

template <typename T>
bool discard(std::vector<std::unique_ptr<T>>& all, const T* one) {
  return std::erase_if(all, [&](const auto& held) { return held.get() == one; }) > 0;
}

template <typename T>
bool holds(const std::vector<std::unique_ptr<T>>& all, const T* one) {
  return std::any_of(all.begin(), all.end(), [&](const auto& held) { return held.get() == one; });
}

}  // namespace

cudaStream_t Queues::create_stream(bool waits_for_null) {
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->serial = next_serial_++;
  streams_.back()->waits_for_null = waits_for_null;
  return streams_.back().get();
}

bool Queues::destroy_stream(cudaStream_t stream) {
  if (!holds(streams_, stream)) return false;
  finish(stream);
  return discard(streams_, stream);
}

cudaEvent_t Queues::create_event() {
  events_.push_back(std::make_unique<CUevent_st>());
  return events_.back().get();
}

bool Queues::destroy_event(cudaEvent_t event) {
  if (!holds(events_, event)) return false;
  finish_all();
  return discard(events_, event);
}

bool Queues::knows(cudaStream_t stream) const { return !stream || holds(streams_, stream); }
bool Queues::knows(cudaEvent_t event) const { return holds(events_, event); }

void Queues::enqueue(cudaStream_t stream, Operation operation) {
  if (captures(stream)) {
    captured_.push_back(std::move(operation));
    return;
  }
  // The null stream and the streams that wait for it take turns.
  if (!stream) {
    for (const auto& other : streams_) {
      if (other->waits_for_null) finish(other.get());
    }
  } else if (stream->waits_for_null) {
    finish(cudaStream_t{nullptr});
  }
  resolve(stream).queue.push_back(std::move(operation));
  if (mode == StreamMode::kEager) finish(stream);
}

void Queues::record(cudaEvent_t event, cudaStream_t stream) {
  event->captured = captures(stream);
  if (event->captured) return;
  enqueue(stream, {{}, event, ++event->recorded, true});
}

void Queues::wait(cudaStream_t stream, cudaEvent_t event) {
  if (event->captured) {
    captured_streams_.insert(stream);
    return;
  }
  if (event->recorded == 0) return;  // as on a card
  enqueue(stream, {{}, event, event->recorded, false});
}

bool Queues::ready(const Operation& operation) const {
  return !operation.event || operation.records || operation.event->completed >= operation.version;
}

void Queues::run(Operation& operation) {
  if (operation.run) operation.run();
  if (!operation.records) return;
  operation.event->completed = std::max(operation.event->completed, operation.version);
  operation.event->when = std::chrono::steady_clock::now();
}

template <typename Done>
void Queues::run_until(Done done) {
  while (!done()) {
    CUstream_st* youngest = nullptr;
    const auto consider = [&](CUstream_st& stream) {
      if (stream.queue.empty() || !ready(stream.queue.front())) return;
      if (!youngest || stream.serial > youngest->serial) youngest = &stream;
    };
    consider(null_stream_);
    for (const auto& stream : streams_) consider(*stream);
    if (!youngest) {
      std::fprintf(stderr, "emulator: streams wait for events that nothing records\n");
      std::abort();
    }
    Operation operation = std::move(youngest->queue.front());
    youngest->queue.pop_front();
    run(operation);
  }
}

void Queues::finish(cudaStream_t stream) {
  run_until([&] { return resolve(stream).queue.empty(); });
}

void Queues::finish(cudaEvent_t event) {
  const std::uint64_t version = event->recorded;
  run_until([&] { return event->completed >= version; });
}

void Queues::finish_all() {
  run_until([&] {
    return null_stream_.queue.empty() &&
           std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& stream) { return stream->queue.empty(); });
  });
}

void Queues::begin_capture(cudaStream_t stream) {
  origin_ = stream;
  captured_streams_ = {stream};
  captured_.clear();
}

std::vector<Operation> Queues::end_capture() {
  origin_ = nullptr;
  captured_streams_.clear();
  return std::move(captured_);
}

}  // namespace emulator
