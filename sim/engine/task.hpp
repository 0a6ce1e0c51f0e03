#pragma once
/// Task<T>: a simulated activity as a lazy coroutine. `co_await child()` runs the child to its end and yields its
/// value; Engine::spawn() starts a Task<> that nobody waits for. A task is single-threaded and never resumed twice at
/// once. Arguments are copied into the coroutine frame: pass references only to things that outlive the run.
///
/// Not modelled: cancellation. A task that must stop early looks at a flag where it would wait.

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "sim/check.hpp"

namespace spillway::sim {

class Engine;

namespace detail {

/// Recycles coroutine frames: a run starts a few for every file, all of a handful of sizes. One list per thread, so
/// engines on different threads share nothing.
class FramePool {
 public:
  static void* get(std::size_t size) {
    const std::size_t bin = (size + kStep - 1) / kStep;
    if (bin >= kBins) return ::operator new(size);
    Frame*& head = mine().free_[bin];
    if (!head) return ::operator new(bin * kStep);
    return std::exchange(head, head->next);
  }
  static void put(void* frame, std::size_t size) {
    const std::size_t bin = (size + kStep - 1) / kStep;
    if (bin >= kBins) return ::operator delete(frame);
    Frame*& head = mine().free_[bin];
    head = new (frame) Frame{head};
  }

 private:
  struct Frame { Frame* next; };
  static constexpr std::size_t kStep = 64, kBins = 32;
  static FramePool& mine() {
    thread_local FramePool pool;
    return pool;
  }
  ~FramePool() {
    for (Frame* head : free_)
      while (head) ::operator delete(std::exchange(head, head->next));
  }
  Frame* free_[kBins] = {};
};

struct PromiseBase {
  static void* operator new(std::size_t size) { return FramePool::get(size); }
  static void operator delete(void* frame, std::size_t size) { FramePool::put(frame, size); }

  std::coroutine_handle<> continuation;  ///< who waits for this task, if anybody
  Engine* owner = nullptr;               ///< set for spawned (root) tasks only
  std::size_t root_slot = 0;

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() { std::terminate(); }  // our code throws nothing
};

void root_finished(Engine& owner, std::size_t slot);

struct FinalAwaiter {
  bool await_ready() noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
    PromiseBase& promise = self.promise();
    if (promise.continuation) return promise.continuation;
    if (promise.owner) root_finished(*promise.owner, promise.root_slot);
    return std::noop_coroutine();
  }
  void await_resume() noexcept {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::PromiseBase {
    std::optional<T> value;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    detail::FinalAwaiter final_suspend() noexcept { return {}; }
    template <class U>
    void return_value(U&& u) { value.emplace(std::forward<U>(u)); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() { if (handle_) handle_.destroy(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().continuation = waiter;
    return handle_;
  }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : detail::PromiseBase {
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    detail::FinalAwaiter final_suspend() noexcept { return {}; }
    void return_void() {}
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() { if (handle_) handle_.destroy(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().continuation = waiter;
    return handle_;
  }
  void await_resume() noexcept {}

 private:
  friend class Engine;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> release() { return std::exchange(handle_, nullptr); }
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace spillway::sim
