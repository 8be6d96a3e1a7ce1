// Identity is read once; names and boot ids do not change while a process lives, and after a fork
// they hold as well. The pid is asked each time: it is the one thing a fork changes.
#include "base/process.h"

#include <limits.h>
#include <pthread.h>
#include <sodium.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/parameters.h"

namespace ripieno {
namespace {

constexpr StringParameter kHostId{"NCCL_HOSTID"};

std::string read_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

const std::string& host_name() {
  static const std::string name = read_host_name();
  return name;
}

const std::string& boot_id() {
  static const std::string id = read_boot_id();
  return id;
}

std::uint64_t host_hash(std::string_view host_id, std::string_view name, std::string_view boot) {
  // No part can hold a line break, so different identities are different strings.
  const std::string identity =
      host_id.empty() ? std::string(name) + '\n' + std::string(boot) : "\n" + std::string(host_id);
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(),
                     reinterpret_cast<const unsigned char*>(identity.data()), identity.size(),
                     nullptr, 0);
  std::uint64_t value = 0;
  for (int byte = 0; byte < 8; ++byte) value = value << 8 | hash[static_cast<std::size_t>(byte)];
  return value;
}

std::uint64_t host_hash() {
  return host_hash(kHostId.value(), host_name(), boot_id());
}

int process_id() noexcept {
  return ::getpid();
}

int thread_id() noexcept {
  return static_cast<int>(::syscall(SYS_gettid));
}

void name_thread(std::string_view name) noexcept {
  std::array<char, 16> cut{};
  name.copy(cut.data(), cut.size() - 1);
  ::pthread_setname_np(::pthread_self(), cut.data());
}

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    ::sigdelset(&all, fault);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace ripieno
