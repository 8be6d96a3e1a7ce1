// Send and receive between two ranks. A message is one or several pieces in the pair's mailbox:
// small ones travel in the mailbox itself, buffers that the receiver can reach are read in place,
// all others go through the pair's two staging areas in turn. Messages of a pair are matched in
// order.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parameters.h"
#include "coll/host_algorithms.h"

namespace ripieno::coll {
namespace {

using transport::BufferRef;
using transport::Delivery;
using transport::HostTeam;
using transport::kMessageInlineBytes;
using transport::kMessagePieceBytes;
using transport::MessageSlot;

constexpr SizeParameter kStreamingBytes{"RIPIENO_STREAMING_BYTES"};

/// Up to here a message is copied out at once even where its buffer could be read in place: the
/// sender is then free without waiting for the receiver.
constexpr std::size_t kEagerBytes = std::size_t{16} << 10;

std::size_t message_bytes(const Operation& operation) {
  return operation.count * type_size(operation.type);
}

Store store_for(std::size_t bytes) {
  return bytes >= static_cast<std::size_t>(kStreamingBytes.value()) ? Store::kStreaming
                                                                    : Store::kCached;
}

/// Fills the slot of piece `number` with bytes [begin, begin + size) of the message, copied to
/// where they travel.
void fill_copied_piece(HostTeam& team, int peer, std::uint64_t number, const Operation& message,
                       std::size_t begin, std::size_t size) {
  MessageSlot& slot = team.outgoing(peer, number);
  const bool fits = size <= kMessageInlineBytes;
  std::byte* const to =
      fits ? slot.small.data() : team.page().message_staging(team.rank(), peer, number);
  if (size != 0) {
    std::memcpy(to, message.send + begin, size);
  }
  slot.message_bytes = message_bytes(message);
  slot.piece_bytes = size;
  slot.delivery = fits ? Delivery::kInline : Delivery::kStaged;
}

const std::byte* piece_source(const HostTeam& team, int peer, std::uint64_t number) {
  const MessageSlot& slot = team.incoming(peer, number);
  switch (slot.delivery) {
    case Delivery::kInline:
      return slot.small.data();
    case Delivery::kStaged:
      return team.page().message_staging(peer, team.rank(), number);
    case Delivery::kDirect:
      return team.resolve(peer, slot.source_kind, slot.source, slot.piece_bytes);
  }
  throw Error(ncclInternalError, "piece {} of a message from rank {} has unknown delivery {}",
              number, peer, static_cast<int>(slot.delivery));
}

void check_size(const HostTeam& team, int peer, std::uint64_t sent, std::size_t expected) {
  if (sent != expected) {
    throw Error(
        ncclInvalidUsage,
        "message sizes disagree: rank {} sends {} bytes to rank {}, which receives {} bytes; "
        "count and type of ncclSend and the matching ncclRecv must give equal sizes",
        peer, sent, team.rank(), expected);
  }
}

}  // namespace

Schedule send_messages(HostTeam& team, int peer, std::vector<Operation> messages) {
  for (const Operation& message : messages) {
    const std::size_t bytes = message_bytes(message);
    const BufferRef source = team.refer_to(message.send);
    if (bytes > kEagerBytes && team.reachable(peer, source.kind)) {
      const std::uint64_t number = team.next_sent(peer);
      // A slot is free when the piece two before has been taken.
      co_await team.taken(peer, static_cast<std::int64_t>(number) - 2);
      MessageSlot& slot = team.outgoing(peer, number);
      slot.message_bytes = bytes;
      slot.piece_bytes = bytes;
      slot.source = source.value;
      slot.source_kind = source.kind;
      slot.delivery = Delivery::kDirect;
      team.post(peer, number);
      co_await team.taken(peer, static_cast<std::int64_t>(number));
      continue;
    }
    std::size_t begin = 0;
    do {
      const std::uint64_t number = team.next_sent(peer);
      co_await team.taken(peer, static_cast<std::int64_t>(number) - 2);
      const std::size_t size = std::min(kMessagePieceBytes, bytes - begin);
      fill_copied_piece(team, peer, number, message, begin, size);
      team.post(peer, number);
      begin += size;
    } while (begin < bytes);
  }
}

Schedule receive_messages(HostTeam& team, int peer, std::vector<Operation> messages) {
  for (const Operation& message : messages) {
    const std::size_t bytes = message_bytes(message);
    std::size_t begin = 0;
    do {
      const std::uint64_t number = team.next_received(peer);
      co_await team.posted(peer, number);
      const MessageSlot& slot = team.incoming(peer, number);
      check_size(team, peer, slot.message_bytes, bytes);
      const std::size_t size = slot.piece_bytes;
      if (size != 0 && slot.delivery == transport::Delivery::kDirect) {
        co_await team.may_reach(peer);
        const HostTeam::Reach reach(team);
        copy(message.receive + begin, piece_source(team, peer, number), size, store_for(bytes));
      } else if (size != 0) {
        copy(message.receive + begin, piece_source(team, peer, number), size, store_for(bytes));
      }
      team.take(peer, number);
      begin += size;
    } while (begin < bytes);
  }
}

void exchange_with_self(std::span<const Operation> sends, std::span<const Operation> receives) {
  for (std::size_t message = 0; message < sends.size(); ++message) {
    const std::size_t bytes = message_bytes(sends[message]);
    const std::size_t expected = message_bytes(receives[message]);
    if (bytes != expected) {
      throw Error(ncclInvalidUsage,
                  "message sizes disagree: a rank sends {} bytes to itself and receives {} bytes",
                  bytes, expected);
    }
    if (bytes != 0) {
      copy(receives[message].receive, sends[message].send, bytes, store_for(bytes));
    }
  }
}

}  // namespace ripieno::coll
