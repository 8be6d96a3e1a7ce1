// What ranks and the rendezvous say to each other, ids, addresses, and sealed frames. What decodes
// must come back from its own encoding.
#include <optional>

#include "base/error.h"
#include "bootstrap/channel.h"
#include "bootstrap/handshake.h"
#include "bootstrap/messages.h"
#include "bootstrap/sockets.h"
#include "bootstrap/unique_id.h"
#include "fuzz/input.h"

namespace ripieno::bootstrap {
namespace {

using fuzz::demand;
using fuzz::Input;

template <typename Message, typename Decode>
void there_and_back(std::span<const std::byte> bytes, Decode decode) {
  const std::optional<Message> message = decode(bytes);
  if (message) {
    demand(decode(encode(*message)).has_value());
  }
}

void open_frames(Input input) {
  Sealer sealer(Key{});
  while (input.rest().size() >= Sealer::kHeaderBytes) {
    std::array<std::byte, Sealer::kHeaderBytes> header{};
    input.take(header.data(), header.size());
    const auto length = sealer.open_header(header);
    const std::size_t body = std::min<std::size_t>(length.value_or(32), input.rest().size());
    (void)sealer.open_body(input.rest().first(body));
    input = Input(reinterpret_cast<const std::uint8_t*>(input.rest().data()) + body,
                  input.rest().size() - body);
  }
}

void read_texts(std::string_view text) {
  if (const auto address = Address::parse(text, 80)) {
    demand(!address->to_string().empty());
  }
  try {
    (void)parse_port_range(text);
  } catch (const Error& error) {
    demand(error.result() == ncclInvalidUsage);
  }
}

}  // namespace
}  // namespace ripieno::bootstrap

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno::bootstrap;
  ripieno::fuzz::Input input(data, size);
  switch (input.byte() % 8) {
    case 0:
      there_and_back<JoinRequest>(input.rest(), &decode_join_request);
      (void)version_of_join_request(input.rest());
      break;
    case 1:
      there_and_back<Welcome>(input.rest(), &decode_welcome);
      break;
    case 2:
      there_and_back<Failure>(input.rest(), &decode_failure);
      break;
    case 3:
      there_and_back<Gather>(input.rest(), &decode_gather);
      break;
    case 4:
      there_and_back<Introduction>(input.rest(), &decode_introduction);
      break;
    case 5: {
      ncclUniqueId id{};
      input.take(&id, sizeof id);
      (void)decode(id);
      (void)may_be_hello(input.rest());
      (void)decode_hello(input.rest());
      break;
    }
    case 6:
      open_frames(input);
      break;
    default:
      read_texts(input.text());
      break;
  }
  return 0;
}
