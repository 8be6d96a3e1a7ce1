// Who this process is (host, boot, pid) and how the library starts its threads.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace ripieno {

/// The host's full name: two hosts whose names agree up to the first dot are two hosts.
[[nodiscard]] const std::string& host_name();
/// Changes with every boot; empty where the system does not tell.
[[nodiscard]] const std::string& boot_id();
/// Equal for processes that share a host: a hash of host name and boot id, or of NCCL_HOSTID where
/// that is set (which so splits one host into several, or names one that changes its name).
[[nodiscard]] std::uint64_t host_hash();
/// host_hash() of given parts, for tests; `host_id` wins where it is not empty.
[[nodiscard]] std::uint64_t host_hash(std::string_view host_id, std::string_view name,
                                      std::string_view boot);
[[nodiscard]] int process_id() noexcept;
[[nodiscard]] int thread_id() noexcept;

/// Names the calling thread; cut to the 15 characters that the kernel keeps.
void name_thread(std::string_view name) noexcept;

/// Blocks all signals in the calling thread for its lifetime, except those that report a fault of
/// the thread itself; threads started meanwhile inherit that.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread of the library: named, with signals blocked, so that the application's handlers
/// never run on it. `function` may take a std::stop_token and must not let an exception out.
template <typename Function>
[[nodiscard]] std::jthread start_thread(std::string name, Function&& function) {
  const SignalsBlocked blocked;
  return std::jthread([name = std::move(name),
                       function = std::forward<Function>(function)](std::stop_token stop) mutable {
    name_thread(name);
    if constexpr (std::is_invocable_v<Function&, std::stop_token>) {
      function(std::move(stop));
    } else {
      function();
    }
  });
}

}  // namespace ripieno
