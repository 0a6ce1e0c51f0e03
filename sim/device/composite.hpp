#pragma once
/// What devices made of devices have in common: members, the requests sent to them, and working events off in order.

#include <memory>
#include <vector>

#include "sim/device/device.hpp"

namespace spillway::sim::device {

class Composite : public Device {
 public:
  explicit Composite(std::vector<std::unique_ptr<Device>> members)
      : members_(std::move(members)), due_(members_.size(), kNever) {}

  void submit(SimTime now, const Request& request) final;
  std::optional<SimTime> next_event() const final;
  void advance(SimTime now, std::vector<Completion>& done) final;
  Counters counters(SimTime now) const override;
  std::int64_t in_flight() const final { return in_flight_; }
  int queue_depth() const override;  ///< the members' together, at most 1024
  bool volatile_cache() const override;
  bool rotational() const override;
  Bytes logical_block() const override;
  Bytes physical_block() const override;

 protected:
  using Tag = std::uint64_t;
  /// A request has arrived.
  virtual void accept(SimTime now, const Request& request) = 0;
  /// What was sent with this tag is done.
  virtual void member_done(SimTime at, std::size_t member, Tag tag) = 0;
  /// The model's own timer, beside its members' events.
  virtual std::optional<SimTime> own_event() const { return std::nullopt; }
  virtual void own_advance(SimTime) {}

  void send(SimTime now, std::size_t member, Request request, Tag tag);
  /// The host's request is done: counts it and reports the completion.
  void finish(const Request& request, SimTime submitted, SimTime at);

  std::vector<std::unique_ptr<Device>> members_;
  Counters totals_;

 private:
  static constexpr SimTime kNever = SimTime::max();
  /// A member's next event changes only when it is sent something or advanced: it is remembered, not asked for at every
  /// step of the array.
  void look_at(std::size_t member) { due_[member] = members_[member]->next_event().value_or(kNever); }

  std::vector<SimTime> due_;              ///< each member's next event
  std::vector<Tag> tags_;                 ///< by the id that the member sees
  std::vector<std::uint64_t> free_ids_;
  std::vector<Completion> finished_, scratch_;
  SimTime now_{};
  std::int64_t in_flight_ = 0;
};

}  // namespace spillway::sim::device
