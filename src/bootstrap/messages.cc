// Fields in order, little-endian.
#include "bootstrap/messages.h"

#include <algorithm>

#include "bootstrap/bytes.h"

namespace ripieno::bootstrap {
namespace {

constexpr std::uint32_t kMostRanks = 1 << 24;

}  // namespace

std::vector<std::byte> encode(const JoinRequest& request) {
  ByteWriter writer;
  writer.text(request.version);
  writer.number(static_cast<std::uint8_t>(request.kind));
  writer.number(request.rank);
  writer.number(request.ranks);
  writer.number(request.groups);
  writer.number(request.group);
  writer.raw(request.ids);
  writer.number(static_cast<std::uint64_t>(request.patience.count()));
  request.listener.encode(writer);
  writer.text(request.place);
  return writer.take();
}

std::optional<JoinRequest> decode_join_request(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  JoinRequest request;
  request.version = reader.text();
  request.kind = static_cast<JoinRequest::Kind>(reader.number<std::uint8_t>());
  request.rank = reader.number<std::uint32_t>();
  request.ranks = reader.number<std::uint32_t>();
  request.groups = reader.number<std::uint32_t>();
  request.group = reader.number<std::uint32_t>();
  reader.array(request.ids);
  const auto patience = reader.number<std::uint64_t>();
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;
  request.patience = std::chrono::milliseconds(std::min(patience, kLongest));
  request.listener = Address::decode(reader);
  request.place = reader.text();
  const bool known =
      request.kind == JoinRequest::Kind::kMember || request.kind == JoinRequest::Kind::kLeader;
  const bool possible = request.ranks >= 1 && request.ranks <= kMostRanks &&
                        request.rank < request.ranks && request.groups >= 1 &&
                        request.groups <= request.ranks && request.group < request.groups;
  if (!reader.complete() || !known || !possible) return std::nullopt;
  if (request.listener.family() == Family::kNone) return std::nullopt;
  return request;
}

std::string version_of_join_request(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  return reader.text();
}

std::vector<std::byte> encode(const Welcome& welcome) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(welcome.parent_rank));
  welcome.parent.encode(writer);
  return writer.take();
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Welcome welcome;
  welcome.parent_rank = static_cast<std::int32_t>(reader.number<std::uint32_t>());
  welcome.parent = Address::decode(reader);
  if (!reader.complete() || welcome.parent_rank < -1) return std::nullopt;
  if (welcome.parent_rank >= 0 && welcome.parent.family() == Family::kNone) return std::nullopt;
  return welcome;
}

std::vector<std::byte> encode(const Failure& failure) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(failure.result));
  writer.text(failure.sentence);
  return writer.take();
}

std::optional<Failure> decode_failure(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Failure failure;
  const auto result = reader.number<std::uint32_t>();
  failure.sentence = reader.text();
  if (!reader.complete() || result == ncclSuccess || result >= ncclNumResults) return std::nullopt;
  failure.result = static_cast<ncclResult_t>(result);
  return failure;
}

std::vector<std::byte> encode(const Gather& gather) {
  ByteWriter writer;
  writer.number(gather.sequence);
  writer.number(gather.size);
  for (const Gather::Contribution& contribution : gather.contributions) {
    writer.number(contribution.rank);
    writer.raw(contribution.bytes);
  }
  return writer.take();
}

std::optional<Gather> decode_gather(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Gather gather;
  gather.sequence = reader.number<std::uint64_t>();
  gather.size = reader.number<std::uint32_t>();
  while (reader.good() && !reader.rest().empty()) {
    const auto rank = reader.number<std::uint32_t>();
    gather.contributions.push_back({.rank = rank, .bytes = reader.raw(gather.size)});
  }
  if (!reader.good()) return std::nullopt;
  return gather;
}

std::vector<std::byte> encode(const Introduction& introduction) {
  ByteWriter writer;
  introduction.listener.encode(writer);
  writer.raw(introduction.direct_nonce);
  writer.raw(introduction.salt);
  return writer.take();
}

std::optional<Introduction> decode_introduction(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Introduction introduction;
  introduction.listener = Address::decode(reader);
  reader.array(introduction.direct_nonce);
  reader.array(introduction.salt);
  if (!reader.complete() || introduction.listener.family() == Family::kNone) return std::nullopt;
  return introduction;
}

}  // namespace ripieno::bootstrap
