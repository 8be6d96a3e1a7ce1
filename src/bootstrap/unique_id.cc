// Layout: magic (8), kind (1), address (23), secret (32), zeros, and at the end a checksum (16)
// over all before it, so that an id damaged on its way is refused at once instead of leading
// nowhere.
#include "bootstrap/unique_id.h"

#include <cstring>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

constexpr std::uint64_t kMagic = 0x316f'6e65'6970'6972;  // "ripieno1" in memory
constexpr std::size_t kChecksumBytes = 16;
constexpr std::size_t kBodyBytes = NCCL_UNIQUE_ID_BYTES - kChecksumBytes;

Key checksum(std::span<const std::byte> body) {
  return derive(Key{}, "unique id", {body});
}

}  // namespace

ncclUniqueId encode(const UniqueId& id) {
  ByteWriter writer;
  writer.number(kMagic);
  writer.number(static_cast<std::uint8_t>(id.kind));
  id.address.encode(writer);
  writer.raw(id.secret);
  std::vector<std::byte> body = writer.take();
  body.resize(kBodyBytes);
  const Key sum = checksum(body);
  ncclUniqueId bytes;
  std::memcpy(bytes.internal, body.data(), kBodyBytes);
  std::memcpy(bytes.internal + kBodyBytes, sum.data(), kChecksumBytes);
  return bytes;
}

std::optional<UniqueId> decode(const ncclUniqueId& id) {
  const auto bytes = std::as_bytes(std::span(id.internal));
  const Key sum = checksum(bytes.first(kBodyBytes));
  if (!equal(bytes.subspan(kBodyBytes), std::span(sum).first(kChecksumBytes))) return std::nullopt;
  ByteReader reader(bytes);
  if (reader.number<std::uint64_t>() != kMagic) return std::nullopt;
  UniqueId result;
  result.kind = static_cast<UniqueId::Kind>(reader.number<std::uint8_t>());
  result.address = Address::decode(reader);
  reader.array(result.secret);
  const bool known =
      result.kind == UniqueId::Kind::kRendezvous || result.kind == UniqueId::Kind::kFixed;
  if (!known || result.address.family() == Family::kNone) return std::nullopt;
  return result;
}

UniqueId fixed_id(std::string_view comm_id, std::optional<Family> family) {
  UniqueId id;
  id.kind = UniqueId::Kind::kFixed;
  id.address = resolve_host_and_port(comm_id, family);
  id.secret =
      derive(Key{}, "NCCL_COMM_ID", {std::as_bytes(std::span(comm_id.data(), comm_id.size()))});
  return id;
}

}  // namespace ripieno::bootstrap
