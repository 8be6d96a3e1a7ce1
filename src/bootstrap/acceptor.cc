// Callers are few and short-lived, so every advance() simply tries them all.
#include "bootstrap/acceptor.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "bootstrap/sockets.h"

namespace ripieno::bootstrap {
namespace {

using std::chrono::milliseconds;

/// An honest client answers within a round trip, or when its host gives it a moment.
constexpr milliseconds kProofTime{5000};
constexpr std::size_t kWaitingPlaces = 128;
/// When all places are taken, those who sat longest give way, but not before this.
constexpr milliseconds kFairSeat{250};

}  // namespace

Acceptor::Acceptor(UniqueFd listener, std::vector<Offer> offers, const Nonce& direct_nonce)
    : listener_(std::move(listener)), offers_(std::move(offers)), direct_nonce_(direct_nonce) {}

Acceptor::~Acceptor() {
  close();
}

void Acceptor::close() noexcept {
  if (listener_) ::shutdown(listener_.get(), SHUT_RDWR);
  listener_.reset();
  callers_.clear();
}

void Acceptor::watch(std::vector<pollfd>& watched) const {
  const bool full = callers_.size() >= kWaitingPlaces;
  if (listener_ && !full)
    watched.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Caller& caller : callers_) {
    watched.push_back({.fd = caller.socket.get(), .events = POLLIN, .revents = 0});
  }
}

Deadline Acceptor::due() const noexcept {
  if (callers_.empty()) return Deadline::never();
  const Deadline first = callers_.front().limit;
  if (callers_.size() < kWaitingPlaces) return first;
  const auto seated = callers_.front().arrived + kFairSeat - Deadline::Clock::now();
  return earlier(
      first, Deadline::after(std::max(std::chrono::ceil<milliseconds>(seated), milliseconds(0))));
}

std::vector<Guest> Acceptor::advance() {
  accept_callers();
  std::vector<Guest> guests;
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const Progress progress = move(*caller);
    if (progress == Progress::kWaits && !caller->limit.expired()) {
      ++caller;
      continue;
    }
    if (progress == Progress::kProved) {
      const Offer* offer = offer_for(caller->hello.purpose);
      const int from = static_cast<int>(caller->hello.from);
      guests.push_back({.purpose = caller->hello.purpose,
                        .from = from,
                        .channel = std::make_unique<Channel>(
                            std::move(caller->socket), caller->handshake->keys(), End::kServer,
                            offer->frame_limit, fmt::format("rank {}", from))});
    } else {
      ++strangers_;
    }
    caller = callers_.erase(caller);
  }
  return guests;
}

void Acceptor::accept_callers() {
  while (listener_ && make_room()) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      const bool no_descriptors = errno == EMFILE || errno == ENFILE;
      if (no_descriptors && callers_.empty()) {
        throw Error::system("Could not accept a connection", errno);
      }
      // The oldest stranger gives its descriptor back.
      if (no_descriptors) {
        callers_.pop_front();
        ++strangers_;
        continue;
      }
      return;
    }
    send_without_delay(socket.get());
    callers_.push_back({.socket = std::move(socket),
                        .arrived = Deadline::Clock::now(),
                        .limit = Deadline::after(kProofTime)});
  }
}

bool Acceptor::make_room() {
  if (callers_.size() < kWaitingPlaces) return true;
  if (Deadline::Clock::now() - callers_.front().arrived < kFairSeat) return false;
  callers_.pop_front();
  ++strangers_;
  return true;
}

Acceptor::Progress Acceptor::move(Caller& caller) {
  if (!caller.handshake) {
    const Progress progress = read_hello(caller);
    if (progress != Progress::kProved) return progress;
  }
  return read_proof(caller);
}

/// Whether `wanted` bytes are there; never reads more, what follows belongs to the channel. A
/// caller that hung up is left with fewer bytes and closed by its deadline or by reading again.
bool Acceptor::fill(Caller& caller, std::size_t wanted) const {
  while (caller.received.size() < wanted) {
    const std::size_t held = caller.received.size();
    caller.received.resize(wanted);
    const ssize_t count =
        ::recv(caller.socket.get(), caller.received.data() + held, wanted - held, MSG_DONTWAIT);
    caller.received.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (count <= 0) {
      caller.socket.reset();
      return false;
    }
  }
  return true;
}

/// kProved here: the hello is complete and answered.
Acceptor::Progress Acceptor::read_hello(Caller& caller) {
  const bool complete = fill(caller, kHelloBytes);
  if (!may_be_hello(caller.received) || !caller.socket) return Progress::kStranger;
  if (!complete) return Progress::kWaits;
  const auto hello = decode_hello(caller.received);
  const Offer* offer = hello ? offer_for(hello->purpose) : nullptr;
  if (offer == nullptr || hello->from > 0x7fff'ffff) return Progress::kStranger;
  caller.hello = *hello;
  HelloBytes bytes;
  std::memcpy(bytes.data(), caller.received.data(), bytes.size());
  caller.received.clear();
  if (hello->purpose == Purpose::kDirect) {
    caller.handshake.emplace(offer->key, bytes, direct_nonce_);
    return Progress::kProved;
  }
  const Nonce nonce = random_key();
  caller.handshake.emplace(offer->key, bytes, nonce);
  Challenge challenge;
  const Key proof = caller.handshake->server_proof();
  std::memcpy(challenge.data(), nonce.data(), nonce.size());
  std::memcpy(challenge.data() + nonce.size(), proof.data(), proof.size());
  ssize_t sent = -1;
  do {
    sent = ::send(caller.socket.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(challenge.size()) ? Progress::kProved : Progress::kStranger;
}

Acceptor::Progress Acceptor::read_proof(Caller& caller) {
  if (!fill(caller, kProofBytes)) return caller.socket ? Progress::kWaits : Progress::kStranger;
  return equal(caller.received, caller.handshake->client_proof()) ? Progress::kProved
                                                                  : Progress::kStranger;
}

const Acceptor::Offer* Acceptor::offer_for(Purpose purpose) const noexcept {
  const auto found = std::ranges::find(offers_, purpose, &Offer::purpose);
  return found == offers_.end() ? nullptr : &*found;
}

}  // namespace ripieno::bootstrap
