// Creating, mapping and laying out the control page. The flight board comes first, for those who
// map nothing else.
#include "transport/control_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/error.h"
#include "base/futex.h"

namespace ripieno::transport {
namespace {

constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t round_to_pages(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// Offsets of the areas, in the order in which they lie. Areas that are touched by every operation
/// come first and dense.
struct Layout {
  explicit Layout(int ranks) {
    const auto n = static_cast<std::size_t>(ranks);
    lines = round_to_pages(observe::board_bytes(n));
    slots = lines + round_to_pages(n * sizeof(RankLine));
    mailboxes = slots + round_to_pages(2 * n * sizeof(ArrivalSlot));
    meeting_slots = mailboxes + round_to_pages(n * n * sizeof(Mailbox));
    one_shot = meeting_slots + round_to_pages(4 * n * sizeof(MeetingSlot));
    staging = one_shot + 2 * n * kOneShotBytes;
    message_staging = staging + 2 * n * kStagingBytes;
    bytes = message_staging + 2 * n * n * kMessagePieceBytes;
  }

  std::size_t lines;
  std::size_t slots;
  std::size_t mailboxes;
  std::size_t meeting_slots;
  std::size_t one_shot;
  std::size_t staging;
  std::size_t message_staging;
  std::size_t bytes;
};

}  // namespace

std::shared_ptr<ControlPage> ControlPage::create(int ranks) {
  UniqueFd fd(memfd_create(observe::kBoardFile, MFD_CLOEXEC));
  if (!fd) {
    throw Error::system("cannot create the communicator's control page (memfd_create)", errno);
  }
  const Layout layout(ranks);
  if (ftruncate(fd.get(), static_cast<off_t>(layout.bytes)) != 0) {
    throw Error::system("cannot size the communicator's control page (ftruncate)", errno);
  }
  return std::shared_ptr<ControlPage>(new ControlPage(std::move(fd), ranks));
}

std::shared_ptr<ControlPage> ControlPage::open(UniqueFd fd, int ranks) {
  return std::shared_ptr<ControlPage>(new ControlPage(std::move(fd), ranks));
}

ControlPage::ControlPage(UniqueFd fd, int ranks)
    : fd_(std::move(fd)), ranks_(ranks), bytes_(Layout(ranks).bytes) {
  void* address =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (address == MAP_FAILED) {
    throw Error::system(
        fmt::format("cannot map the communicator's control page ({} bytes of address space)",
                    bytes_),
        errno);
  }
  // The file starts as zeros, which is the initial value of every field.
  const Layout layout(ranks);
  base_ = static_cast<std::byte*>(address);
  flight_lines_ = reinterpret_cast<observe::FlightLine*>(base_ + observe::FlightHeader::kBytes);
  lines_ = reinterpret_cast<RankLine*>(base_ + layout.lines);
  slots_ = reinterpret_cast<ArrivalSlot*>(base_ + layout.slots);
  mailboxes_ = reinterpret_cast<Mailbox*>(base_ + layout.mailboxes);
  meeting_slots_ = reinterpret_cast<MeetingSlot*>(base_ + layout.meeting_slots);
  one_shot_ = base_ + layout.one_shot;
  staging_ = base_ + layout.staging;
  message_staging_ = base_ + layout.message_staging;
}

ControlPage::~ControlPage() {
  munmap(base_, bytes_);
}

void ControlPage::ring(int rank) const noexcept {
  if (line(rank).sleepers.load(std::memory_order_seq_cst) != 0) {
    ring_always(rank);
  }
}

void ControlPage::ring_always(int rank) const noexcept {
  line(rank).bell.fetch_add(1, std::memory_order_release);
  futex_wake(line(rank).bell, std::numeric_limits<int>::max(), FutexScope::kShared);
}

void ControlPage::title_board(std::uint64_t communicator_hash,
                              std::string_view name) const noexcept {
  auto& header = *reinterpret_cast<observe::FlightHeader*>(base_);
  header.ranks = static_cast<std::uint32_t>(ranks_);
  header.line_bytes = sizeof(observe::FlightLine);
  header.hash = communicator_hash;
  header.begin = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::ranges::copy(name.substr(0, header.name.size() - 1), header.name.begin());
  header.magic.store(observe::FlightHeader::kMagic, std::memory_order_release);
}

void ControlPage::wait_for_bell(int rank, std::uint32_t seen,
                                std::chrono::milliseconds timeout) const noexcept {
  futex_wait(line(rank).bell, seen, timeout, FutexScope::kShared);
}

}  // namespace ripieno::transport
