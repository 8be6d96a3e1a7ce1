// The two kinds of tasks: one collective (the common case, kept lean), and a group of operations.
#include "plan/plan.h"

#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "coll/host_algorithms.h"
#include "plan/patience.h"
#include "tune/choice.h"

namespace ripieno::plan {
namespace {

using coll::Function;
using coll::Operation;

/// How long the submitting thread tries to finish a small operation itself before the stream's
/// worker takes over.
constexpr std::chrono::microseconds kInlineBudget{200};

/// The factor of kPreMulSum may lie in device memory until the operation runs.
void fetch_scalar(Operation& operation) {
  if (operation.device_scalar != nullptr) {
    std::memcpy(&operation.scalar, operation.device_scalar, type_size(operation.type));
  }
}

std::string describe_operation(const Operation& operation) {
  const bool message = coll::is_message(operation.function);
  return fmt::format("{} ({} x {}{})", coll::function_name(operation.function), operation.count,
                     type_name(operation.type),
                     message ? fmt::format(", peer {}", operation.root) : "");
}

observe::FlightEntry entry_of(const Operation& operation, const Sequencer& sequencer) noexcept {
  const bool message = coll::is_message(operation.function);
  return {.collective = message ? 0 : sequencer.collectives_so_far() + 1,
          .count = operation.count,
          .root = operation.root,
          .function = static_cast<std::uint8_t>(operation.function),
          .type = static_cast<std::uint8_t>(operation.type),
          .reduce = static_cast<std::uint8_t>(operation.reduce)};
}

/// One collective under way, or a single rank's copy.
class Collective {
 public:
  explicit Collective(const Operation& operation) : operation_(operation) {}

  [[nodiscard]] bool advance(Sequencer& sequencer) {
    if (!schedule_) {
      fetch_scalar(operation_);
      if (sequencer.ranks() == 1) {
        coll::run_alone(operation_);
        return true;
      }
      const std::uint64_t sequence = sequencer.next_collective();
      transport::HostTeam& team = sequencer.team();
      schedule_ = tune::choose(operation_, sequencer.ranks(), sequencer.tuner()) ==
                          tune::Algorithm::kOneShot
                      ? coll::one_shot(team, operation_, sequence)
                      : coll::direct(team, operation_, sequence);
    }
    return schedule_.poll();
  }
  [[nodiscard]] Waiting* waiting() const noexcept { return schedule_.waiting(); }
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

 private:
  Operation operation_;
  Schedule schedule_;
};

/// What all plans share: their turn, stopping, and how failures are kept.
class PlanTask : public device::Task, private Waiter {
 public:
  explicit PlanTask(std::shared_ptr<Sequencer> sequencer) : sequencer_(std::move(sequencer)) {}

  ~PlanTask() override {
    // A task that its stream drops must not hold up the plans behind it.
    if (ticket_ && !ended_) {
      sequencer_->end_plan(begun_);
    }
  }

  [[nodiscard]] bool is_live() const noexcept override { return !sequencer_->stopped(); }
  void enqueued() noexcept override { ticket_ = sequencer_->take_ticket(); }

  bool poll() noexcept override {
    if (!sequencer_->stopped()) {
      if (!begun_ && !begin()) {
        return false;
      }
      try {
        if (!advance()) {
          return false;
        }
      } catch (const Error& error) {
        sequencer_->fail(error);
      } catch (const std::exception& error) {
        sequencer_->fail(Error(ncclInternalError, "{}: {}", describe(), error.what()));
      }
    }
    ended_ = true;
    sequencer_->end_plan(begun_);
    return true;
  }

  void run() noexcept override {
    Patience patience(*sequencer_, *this);
    while (!poll()) {
      try {
        patience.pause();
      } catch (const Error& error) {
        sequencer_->fail(error);
      }
    }
  }

  [[nodiscard]] std::chrono::nanoseconds inline_budget() const noexcept override {
    return runs_inline() ? kInlineBudget : std::chrono::nanoseconds{0};
  }

 protected:
  [[nodiscard]] const std::shared_ptr<Sequencer>& sequencer() const noexcept { return sequencer_; }
  [[nodiscard]] virtual bool advance() = 0;
  [[nodiscard]] virtual bool runs_inline() const noexcept = 0;
  [[nodiscard]] virtual const Waiting* waits_for_peers() const noexcept = 0;

 private:
  [[nodiscard]] bool begin() noexcept {
    if (!sequencer_->is_turn(*ticket_)) {
      return false;
    }
    sequencer_->begin_plan(flight_entry());
    begun_ = true;
    return true;
  }

  [[nodiscard]] const Waiting* waiting() const noexcept override {
    return begun_ ? waits_for_peers() : nullptr;
  }
  [[nodiscard]] bool can_advance() noexcept override {
    return begun_ ? ready() : sequencer_->is_turn(*ticket_);
  }
  [[nodiscard]] virtual bool ready() noexcept = 0;
  [[nodiscard]] virtual observe::FlightEntry flight_entry() const noexcept = 0;

  std::shared_ptr<Sequencer> sequencer_;
  std::optional<std::uint64_t> ticket_;
  bool begun_ = false;
  bool ended_ = false;
};

bool is_ready(Waiting* waiting) noexcept {
  return waiting == nullptr || waiting->ready();
}

class CollectiveTask final : public PlanTask {
 public:
  CollectiveTask(std::shared_ptr<Sequencer> sequencer, const Operation& operation)
      : PlanTask(std::move(sequencer)), collective_(operation) {}

  [[nodiscard]] std::unique_ptr<device::Task> clone() const override {
    return std::make_unique<CollectiveTask>(sequencer(), collective_.operation());
  }

 private:
  bool advance() override { return collective_.advance(*sequencer()); }
  [[nodiscard]] bool runs_inline() const noexcept override {
    return tune::may_run_inline(collective_.operation(), sequencer()->ranks());
  }
  [[nodiscard]] const Waiting* waits_for_peers() const noexcept override {
    return collective_.waiting();
  }
  [[nodiscard]] bool ready() noexcept override { return is_ready(collective_.waiting()); }
  [[nodiscard]] std::string describe() const override {
    return describe_operation(collective_.operation());
  }
  [[nodiscard]] observe::FlightEntry flight_entry() const noexcept override {
    return entry_of(collective_.operation(), *sequencer());
  }

  Collective collective_;
};

/// The messages of a group, sorted by who they go to and come from.
struct Messages {
  std::map<int, std::vector<Operation>> sends;
  std::map<int, std::vector<Operation>> receives;
};

class GroupTask final : public PlanTask {
 public:
  explicit GroupTask(Batch batch)
      : PlanTask(batch.sequencer), operations_(std::move(batch.operations)) {
    Messages messages = sort_messages();
    const auto self = sequencer()->rank();
    const std::size_t sends = messages.sends[self].size();
    const std::size_t receives = messages.receives[self].size();
    if (sends != receives) {
      throw Error(
          ncclInvalidUsage,
          "rank {} sends {} and receives {} messages to and from itself in this group; a message "
          "to oneself needs its receive in the same group",
          self, sends, receives);
    }
  }

  [[nodiscard]] std::unique_ptr<device::Task> clone() const override {
    return std::make_unique<GroupTask>(Batch{.sequencer = sequencer(), .operations = operations_});
  }

 private:
  bool advance() override {
    if (!started_) {
      start();
    }
    while (next_ < collectives_.size() && collectives_[next_].advance(*sequencer())) {
      ++next_;
    }
    std::erase_if(lanes_, [](Schedule& lane) { return lane.poll(); });
    return next_ == collectives_.size() && lanes_.empty();
  }

  void start() {
    started_ = true;
    for (const Operation& operation : operations_) {
      if (!coll::is_message(operation.function)) {
        collectives_.emplace_back(operation);
      }
    }
    transport::HostTeam& team = sequencer()->team();
    Messages messages = sort_messages();
    const int self = sequencer()->rank();
    coll::exchange_with_self(messages.sends[self], messages.receives[self]);
    for (auto& [peer, sends] : messages.sends) {
      if (peer != self) {
        lanes_.push_back(coll::send_messages(team, peer, std::move(sends)));
      }
    }
    for (auto& [peer, receives] : messages.receives) {
      if (peer != self) {
        lanes_.push_back(coll::receive_messages(team, peer, std::move(receives)));
      }
    }
  }

  [[nodiscard]] Messages sort_messages() const {
    Messages messages;
    for (const Operation& operation : operations_) {
      if (operation.function == Function::kSend) {
        messages.sends[operation.root].push_back(operation);
      } else if (operation.function == Function::kRecv) {
        messages.receives[operation.root].push_back(operation);
      }
    }
    return messages;
  }

  [[nodiscard]] bool runs_inline() const noexcept override {
    for (const Operation& operation : operations_) {
      if (!tune::may_run_inline(operation, sequencer()->ranks())) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] const Waiting* waits_for_peers() const noexcept override {
    if (next_ < collectives_.size()) {
      return collectives_[next_].waiting();
    }
    return lanes_.empty() ? nullptr : lanes_.front().waiting();
  }
  [[nodiscard]] bool ready() noexcept override {
    if (next_ < collectives_.size() && is_ready(collectives_[next_].waiting())) {
      return true;
    }
    for (const Schedule& lane : lanes_) {
      if (is_ready(lane.waiting())) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::string describe() const override {
    if (next_ < collectives_.size()) {
      return describe_operation(collectives_[next_].operation());
    }
    return fmt::format("a group of {} operations, the first {}", operations_.size(),
                       describe_operation(operations_.front()));
  }

  [[nodiscard]] observe::FlightEntry flight_entry() const noexcept override {
    observe::FlightEntry entry = entry_of(operations_.front(), *sequencer());
    entry.operations = static_cast<std::uint32_t>(operations_.size());
    return entry;
  }

  std::vector<Operation> operations_;
  std::vector<Collective> collectives_;
  std::vector<Schedule> lanes_;
  std::size_t next_ = 0;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<device::Task> make_task(std::shared_ptr<Sequencer> sequencer,
                                        const Operation& operation) {
  return std::make_unique<CollectiveTask>(std::move(sequencer), operation);
}

std::unique_ptr<device::Task> make_task(Batch batch) {
  if (batch.operations.size() == 1 && !coll::is_message(batch.operations.front().function)) {
    return make_task(std::move(batch.sequencer), batch.operations.front());
  }
  return std::make_unique<GroupTask>(std::move(batch));
}

}  // namespace ripieno::plan
