#include "workload/real/pipeline/stage_queue.hpp"

#include "workload/real/pipeline/thread_account.hpp"

namespace spillway::real {

StageQueue::StageQueue(int threads, int requests_per_thread) : asleep_(static_cast<std::size_t>(threads), false), requests_per_thread_(requests_per_thread) {
  for (int i = 0; i < threads; ++i) wakers_.push_back(std::make_unique<std::condition_variable>());
}

bool StageQueue::serves(int thread) const { return waiting_.size() > static_cast<std::size_t>(thread) * static_cast<std::size_t>(requests_per_thread_); }

void StageQueue::push(Request request) {
  std::condition_variable* waker = nullptr;
  {
    const std::scoped_lock lock{mutex_};
    waiting_.push_back(request);
    for (std::size_t i = 0; i < asleep_.size(); ++i)
      if (asleep_[i] && serves(static_cast<int>(i))) {
        asleep_[i] = false;  // woken once, by whoever comes first
        waker = wakers_[i].get();
        break;
      }
  }
  if (waker != nullptr) waker->notify_one();
}

std::optional<Request> StageQueue::pop(int thread, ThreadAccount& account) {
  const auto index = static_cast<std::size_t>(thread);
  std::unique_lock lock{mutex_};
  // When it is closed whoever is there takes what is left.
  while (waiting_.empty() || (!serves(thread) && !closed_)) {
    if (closed_) return std::nullopt;
    asleep_[index] = true;
    account.before_sleep();
    while (asleep_[index] && !closed_) wakers_[index]->wait(lock);
    account.after_sleep();
    asleep_[index] = false;
  }
  const Request request = waiting_.front();
  waiting_.pop_front();
  return request;
}

void StageQueue::close() {
  {
    const std::scoped_lock lock{mutex_};
    closed_ = true;
  }
  for (auto& waker : wakers_) waker->notify_all();
}

}  // namespace spillway::real
