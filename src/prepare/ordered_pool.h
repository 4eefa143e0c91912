// Threads that work on numbered jobs and hand the results back in the order of the jobs. The thread
// that gives out jobs bounds memory by how many it lets be under way.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace snug::prepare {

template <typename Job, typename Result>
class OrderedPool {
 public:
  using Work = std::function<Result(Job&)>;

  // One thread per element of `workers`; each is called by its own thread only.
  explicit OrderedPool(std::vector<Work> workers) {
    for (Work& work : workers) {
      threads_.emplace_back([this, work = std::move(work)](std::stop_token) { serve(work); });
    }
  }
  ~OrderedPool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    work_ready_.notify_all();
  }
  OrderedPool(const OrderedPool&) = delete;
  OrderedPool& operator=(const OrderedPool&) = delete;

  void give(Job job) {
    auto slot = std::make_shared<Slot>();
    slot->job.emplace(std::move(job));
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(slot);
      under_way_.push_back(std::move(slot));
    }
    work_ready_.notify_one();
  }

  // Jobs given and not yet taken. Asked by the giving thread.
  std::size_t under_way() const noexcept { return under_way_.size(); }

  // The result of the oldest job under way, of which there must be one; throws what its work threw.
  Result take() {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Slot> slot = under_way_.front();
    under_way_.pop_front();
    result_ready_.wait(lock, [&] { return slot->result || slot->error; });
    if (slot->error) std::rethrow_exception(slot->error);
    return std::move(*slot->result);
  }

 private:
  struct Slot {
    std::optional<Job> job;
    std::optional<Result> result;
    std::exception_ptr error;
  };

  void serve(const Work& work) {
    for (;;) {
      std::unique_lock lock(mutex_);
      work_ready_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
      if (closing_) return;
      const std::shared_ptr<Slot> slot = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::optional<Result> result;
      std::exception_ptr error;
      try {
        result.emplace(work(*slot->job));
      } catch (...) {
        error = std::current_exception();
      }
      slot->job.reset();
      lock.lock();
      slot->result = std::move(result);
      slot->error = error;
      result_ready_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_ready_, result_ready_;
  std::deque<std::shared_ptr<Slot>> waiting_, under_way_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace snug::prepare
