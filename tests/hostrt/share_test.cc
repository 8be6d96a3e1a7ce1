// Descriptors, memory and events between real processes, and what strangers at the share server's
// door can do: nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "hostrt/peer_process.h"
#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

constexpr std::chrono::milliseconds kLimit{10'000};

/// A file with some text, published.
class PublishedFile {
 public:
  PublishedFile() : fd_(memfd_create("published", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, "hello", 5), 5);
    ticket_ = publish_fd(fd_, 5);
  }
  PublishedFile(const PublishedFile&) = delete;
  PublishedFile& operator=(const PublishedFile&) = delete;
  ~PublishedFile() {
    withdraw_fd(ticket_);
    close(fd_);
  }
  [[nodiscard]] const FdTicket& ticket() const { return ticket_; }

 private:
  int fd_;
  FdTicket ticket_{};
};

void expect_hello(const FetchedFd& fetched) {
  std::array<char, 5> text{};
  EXPECT_EQ(pread(fetched.fd, text.data(), text.size(), 0), 5);
  EXPECT_EQ(std::string(text.data(), 5), "hello");
}

void close_both(const FetchedFd& fetched) {
  close(fetched.fd);
  close(fetched.link);
}

bool hangs_up(int socket, int timeout_ms) {
  pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, timeout_ms) <= 0) return false;
  char byte;
  return recv(socket, &byte, 1, MSG_DONTWAIT) <= 0;
}

int connect_as_stranger(const FdTicket& ticket) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = strnlen(ticket.socket_name.data(), ticket.socket_name.size());
  std::memcpy(address.sun_path + 1, ticket.socket_name.data(), length);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  return fd;
}

cudaError_t code_of_fetch(const FdTicket& ticket) {
  try {
    close_both(fetch_fd(ticket, kLimit));
    return cudaSuccess;
  } catch (const RuntimeError& error) {
    return error.code();
  }
}

TEST(Share, FetchesWhatWasPublished) {
  PublishedFile file;
  const FetchedFd fetched = fetch_fd(file.ticket(), kLimit);
  expect_hello(fetched);
  EXPECT_EQ(fetched.owner_pid, getpid());
  EXPECT_NE(fcntl(fetched.fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(fetched.link, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(hangs_up(fetched.link, 20));
  close_both(fetched);
}

TEST(Share, RefusesWrongSecretsUnknownIdsAndWithdrawnFiles) {
  FdTicket withdrawn{};
  {
    PublishedFile file;
    FdTicket wrong = file.ticket();
    wrong.secret[31] ^= std::byte{1};
    EXPECT_EQ(code_of_fetch(wrong), cudaErrorInvalidResourceHandle);
    FdTicket unknown = file.ticket();
    unknown.id += 1000;
    EXPECT_EQ(code_of_fetch(unknown), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess);
    withdraw_fd(wrong);
    EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess) << "withdrawing takes the secret, too";
    withdrawn = file.ticket();
  }
  EXPECT_EQ(code_of_fetch(withdrawn), cudaErrorInvalidResourceHandle);
}

TEST(Share, TellsWhenTheOwnerIsNotThere) {
  FdTicket ticket{};
  std::strcpy(ticket.socket_name.data(), "ripieno-0123456789abcdef");
  EXPECT_EQ(code_of_fetch(ticket), cudaErrorMapBufferObjectFailed);
}

TEST(Share, DropsStrangersAndServesOthersMeanwhile) {
  PublishedFile file;
  // Silent, talkative, and one that sends nonsense of the right length.
  const int silent = connect_as_stranger(file.ticket());
  const int loud = connect_as_stranger(file.ticket());
  const int forger = connect_as_stranger(file.ticket());
  const std::string noise(5000, 'x');
  send(loud, noise.data(), noise.size(), MSG_NOSIGNAL);
  send(forger, noise.data(), 48, MSG_NOSIGNAL);
  EXPECT_TRUE(hangs_up(loud, 5000));
  EXPECT_TRUE(hangs_up(forger, 5000));
  EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess);
  EXPECT_TRUE(hangs_up(silent, 10'000)) << "a silent stranger is dropped after a deadline";
  for (const int fd : {silent, loud, forger}) close(fd);
}

TEST(Share, ACrowdOfSilentStrangersDoesNotShutTheDoor) {
  PublishedFile file;
  std::vector<int> crowd;
  for (int count = 0; count < 200; ++count) crowd.push_back(connect_as_stranger(file.ticket()));
  EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess);
  EXPECT_TRUE(hangs_up(crowd.front(), 5000)) << "the oldest make room";
  for (const int fd : crowd) close(fd);
}

TEST(Share, AnImpostorIsNotTrusted) {
  // Someone else listens at the name and promises whatever the client wants to hear.
  FdTicket ticket{};
  std::strcpy(ticket.socket_name.data(), "ripieno-impostor-of-the-test");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path + 1, ticket.socket_name.data());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                           std::strlen(ticket.socket_name.data()));
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  std::thread impostor([&] {
    const int client = accept(listener, nullptr, nullptr);
    std::array<char, 64> packet{};
    EXPECT_EQ(recv(client, packet.data(), packet.size(), 0), 48);
    EXPECT_EQ(send(client, packet.data(), 64, MSG_NOSIGNAL), 64);
    EXPECT_EQ(recv(client, packet.data(), packet.size(), 0), 0)
        << "the client answers nothing to it";
    close(client);
  });
  EXPECT_EQ(code_of_fetch(ticket), cudaErrorInvalidResourceHandle);
  impostor.join();
  close(listener);
}

TEST(Share, ManyClientsAtOnce) {
  PublishedFile file;
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&] {
      for (int round = 0; round < 20; ++round) EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess);
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST(Share, ArenaOfAnotherProcessIsReadAndWritten) {
  PeerProcess peer("arena");
  const auto ticket = peer.receive<FdTicket>();
  const auto offset = peer.receive<std::uint64_t>();
  const FetchedFd fetched = fetch_fd(ticket, kLimit);
  EXPECT_EQ(fetched.owner_pid, peer.pid());
  void* mapped = mmap(nullptr, ticket.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      fetched.fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* word = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(mapped) + offset);
  EXPECT_EQ(*word, 0x1234U);
  *word = 0x5678;
  peer.send('x');
  EXPECT_EQ(peer.receive<std::uint64_t>(), 0x5678U);
  EXPECT_FALSE(hangs_up(fetched.link, 0));
  peer.kill();
  EXPECT_TRUE(hangs_up(fetched.link, 5000)) << "the link tells of the owner's death";
  EXPECT_EQ(code_of_fetch(ticket), cudaErrorMapBufferObjectFailed);
  munmap(mapped, ticket.bytes);
  close_both(fetched);
}

// ---- Interprocess handles ----

TEST(Interprocess, MemoryAndEventsOfAnotherProcess) {
  PeerProcess peer("handles");
  const auto memory_handle = peer.receive<cudaIpcMemHandle_t>();
  const auto event_handle = peer.receive<cudaIpcEventHandle_t>();
  void* memory = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cuda::cudaIpcOpenMemHandle(&memory, memory_handle, cudaIpcMemLazyEnablePeerAccess));
  ASSERT_CUDA(cuda::cudaIpcOpenEventHandle(&event, event_handle));
  auto* bytes = static_cast<unsigned char*>(memory);
  EXPECT_EQ(bytes[0], 0x11);
  EXPECT_EQ(bytes[(1 << 20) - 1], 0x11);
  cudaPointerAttributes attributes{};
  EXPECT_CUDA(cuda::cudaPointerGetAttributes(&attributes, bytes + 3));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 3);

  // The peer has recorded the event behind work that waits for us.
  EXPECT_EQ(peer.receive<char>(), 'r');
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaEventQuery(event));
  OwnedStream stream;
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(stream, event, 0));
  unsigned char seen = 0;
  submit(stream, make_task({.act = [&] { seen = bytes[100]; }}));
  EXPECT_EQ(cudaErrorNotReady, cuda::cudaStreamQuery(stream));
  peer.send('g');
  stream.synchronize();
  EXPECT_EQ(seen, 0x22);
  EXPECT_CUDA(cuda::cudaEventSynchronize(event));
  EXPECT_CUDA(cuda::cudaEventQuery(event));

  EXPECT_CUDA(cuda::cudaMemset(bytes + 77, 0x33, 1));
  peer.send('g');
  EXPECT_EQ(peer.receive<unsigned char>(), 0x33);

  // An allocation opened twice has one address and is closed twice.
  void* again = nullptr;
  ASSERT_CUDA(cuda::cudaIpcOpenMemHandle(&again, memory_handle, cudaIpcMemLazyEnablePeerAccess));
  EXPECT_EQ(again, memory);
  EXPECT_CUDA(cuda::cudaIpcCloseMemHandle(memory));
  EXPECT_EQ(bytes[77], 0x33);
  EXPECT_CUDA(cuda::cudaIpcCloseMemHandle(memory));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaIpcCloseMemHandle(memory));
  EXPECT_CUDA(cuda::cudaEventDestroy(event));
}

TEST(Interprocess, WaitEndsWhenTheOwnerDies) {
  PeerProcess peer("handles");
  static_cast<void>(peer.receive<cudaIpcMemHandle_t>());
  const auto event_handle = peer.receive<cudaIpcEventHandle_t>();
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cuda::cudaIpcOpenEventHandle(&event, event_handle));
  EXPECT_EQ(peer.receive<char>(), 'r');
  OwnedStream stream;
  EXPECT_CUDA(cuda::cudaStreamWaitEvent(stream, event, 0));
  peer.kill();
  stream.synchronize();
  EXPECT_CUDA(cuda::cudaEventDestroy(event));
}

TEST(Interprocess, HandlesAreChecked) {
  cudaIpcMemHandle_t handle{};
  void* memory = nullptr;
  EXPECT_EQ(cudaErrorInvalidResourceHandle,
            cuda::cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaIpcOpenMemHandle(&memory, handle, 0));
  int local = 0;
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaIpcGetMemHandle(&handle, &local));
  OwnedEvent plain(cudaEventDisableTiming);
  cudaIpcEventHandle_t event_handle{};
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cuda::cudaIpcGetEventHandle(&event_handle, plain));
  // A handle that comes home opens the memory itself.
  ASSERT_CUDA(cuda::cudaMalloc(&memory, 100));
  ASSERT_CUDA(cuda::cudaIpcGetMemHandle(&handle, memory));
  void* opened = nullptr;
  EXPECT_CUDA(cuda::cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess));
  EXPECT_EQ(opened, memory);
  EXPECT_CUDA(cuda::cudaIpcCloseMemHandle(opened));
  EXPECT_CUDA(cuda::cudaFree(memory));
}

// ---- The end of a process, and forks ----

TEST(Process, EndsQuietlyWithWorkPending) {
  PeerProcess peer("leave");
  EXPECT_EQ(peer.receive<char>(), 'w');
  int status = -1;
  ASSERT_EQ(waitpid(peer.pid(), &status, 0), peer.pid());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Process, EnvironmentSaysHowManyDevices) {
  struct Case {
    const char* text;
    int devices;
    cudaError_t code;
  };
  for (const Case& one : {Case{"3", 3, cudaSuccess}, Case{"0", 0, cudaErrorNoDevice},
                          Case{"many", 8, cudaSuccess}, Case{"9999", 256, cudaSuccess}}) {
    setenv("RIPIENO_HOST_DEVICES", one.text, 1);
    PeerProcess peer("devices");
    unsetenv("RIPIENO_HOST_DEVICES");
    EXPECT_EQ(peer.receive<int>(), one.devices) << one.text;
    EXPECT_EQ(peer.receive<cudaError_t>(), one.code) << one.text;
  }
}

TEST(Process, LittleAddressSpaceMakesASmallArena) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow needs the address space";
#endif
  PeerProcess peer("little");
  const auto size = peer.receive<std::uint64_t>();
  EXPECT_GE(size, 64ULL << 20);
  EXPECT_LT(size, 4ULL << 30);
  EXPECT_EQ(peer.receive<cudaError_t>(), cudaErrorMemoryAllocation);
}

TEST(Process, ForkedChildIsToldThatNothingWorks) {
  PublishedFile file;
  const FetchedFd fetched = fetch_fd(file.ticket(), kLimit);
  OwnedStream stream;
  submit(stream, make_task({}));
  stream.synchronize();
  const pid_t child = fork();
  if (child == 0) {
    void* pointer = nullptr;
    cudaStream_t made = nullptr;
    bool right = cuda::cudaMalloc(&pointer, 100) == cudaErrorInitializationError;
    right = right && cuda::cudaStreamCreate(&made) == cudaErrorInitializationError;
    right = right && cuda::cudaStreamSynchronize(stream) == cudaErrorInitializationError;
    right = right && cuda::cudaGetLastError() == cudaErrorInitializationError;
    right = right && arena().empty() && !arena_offset(&right);
    try {
      submit(stream, nullptr);
      right = false;
    } catch (const RuntimeError& error) {
      right = right && error.code() == cudaErrorInitializationError;
    }
    withdraw_fd(file.ticket());
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  // The parent goes on.
  EXPECT_EQ(code_of_fetch(file.ticket()), cudaSuccess);
  submit(stream, make_task({}));
  stream.synchronize();
  close_both(fetched);
}

}  // namespace
}  // namespace ripieno::hostrt
