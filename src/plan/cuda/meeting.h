// Ranks of one process meet before anything is launched: the operations that belong together become
// one launch (one for every GPU that takes part), which works for all of them. No stream ever waits
// for something that is not launched yet, so nothing can block another stream that shares its
// hardware queue.
//
// A thread that drives all ranks in one group meets itself and never waits. A thread with some of
// the ranks waits in its call until the others have called too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/cuda/arrival.h"

namespace ripieno::plan::gpu {

/// Shared by the ranks of a communicator whose ranks are all in this process. Thread-safe.
class Meeting {
 public:
  /// A batch that has come to the meeting.
  struct Guest {
    Arrival arrival;
    std::size_t open = 0;                     ///< Operations that are neither launched nor alone.
    std::atomic<bool> is_settled = false;     ///< None is open, and the stream is in order.
    std::vector<coll::Operation> alone = {};  ///< To be issued by the rank itself.
    bool is_recorded = false;                 ///< The rank's ready event stands for this batch.
    std::vector<cudaStream_t> hosts = {};     ///< Streams that hold launches for it since leave().
    std::vector<cudaStream_t> joined = {};    ///< Streams that wait for its ready event.
  };
  using Guests = std::vector<std::shared_ptr<Guest>>;

  explicit Meeting(std::vector<int> devices);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Brings batches of some ranks, and launches what has become complete. Throws Error.
  [[nodiscard]] Guests bring(std::vector<Arrival> arrivals);
  /// Waits until no operation of the guests is open. What has to be issued rank by rank, because
  /// the ranks are captured into different graphs, is in their `alone` then. Throws Error when the
  /// meeting was closed.
  void wait(const Guests& guests);
  /// Everybody who waits, or comes later, gets `reason`; the first one counts.
  void close(const Error& reason) noexcept;
  /// Whether everything launched so far has ended.
  [[nodiscard]] bool is_idle() noexcept;

 private:
  struct Pending {
    std::shared_ptr<Guest> guest;
    coll::Operation operation;
  };
  using Line = std::deque<Pending>;
  /// A message whose two ends are here.
  struct Matched {
    Pending send;
    Pending receive;
  };

  void require_open() const;
  void match();
  bool match_collective();
  void match_messages();
  void launch_collective(const std::vector<Pending>& all);
  void launch_messages(std::span<Matched> messages);
  void settle(const Pending& one, bool alone);
  void join(Guest& host, Guest& guest);
  void leave();

  std::vector<int> devices_;  ///< By rank.
  std::mutex mutex_;          ///< Guards everything below.
  std::condition_variable changed_;
  std::unique_ptr<Error> failure_;
  std::vector<Line> collectives_;              ///< By rank.
  std::map<std::pair<int, int>, Line> sends_;  ///< By sender and receiver.
  std::map<std::pair<int, int>, Line> receives_;
  Guests touched_;  ///< Since leave().
  /// What is recorded in a capture cannot be asked for later, so captures have events of their own.
  struct Events {
    std::vector<cudaEvent_t> ready;  ///< By rank.
    std::map<int, std::vector<cudaEvent_t>>
        done;  ///< By device; one for each stream with launches.
  };
  Events eager_;
  Events captured_;
};

}  // namespace ripieno::plan::gpu
