// The log. Lines look like NCCL's (`host:pid:tid [device] NCCL INFO text`) and obey its variables
// (NCCL_DEBUG, NCCL_DEBUG_SUBSYS, NCCL_DEBUG_FILE, time stamps). A line is one write() call, so
// lines of many threads and processes stay whole. A line that is not wanted costs one relaxed load.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace ripieno {

/// Values are NCCL's.
enum class LogLevel : std::uint8_t {
  kNone = 0,
  kVersion = 1,
  kWarn = 2,
  kInfo = 3,
  kAbort = 4,
  kTrace = 5,
};

/// Part of the library that a line comes from; values are NCCL's, combined by |.
namespace log_subsystem {
inline constexpr std::uint64_t kInit = 0x1;
inline constexpr std::uint64_t kColl = 0x2;
inline constexpr std::uint64_t kP2p = 0x4;
inline constexpr std::uint64_t kShm = 0x8;
inline constexpr std::uint64_t kNet = 0x10;
inline constexpr std::uint64_t kGraph = 0x20;
inline constexpr std::uint64_t kTuning = 0x40;
inline constexpr std::uint64_t kEnv = 0x80;
inline constexpr std::uint64_t kAlloc = 0x100;
inline constexpr std::uint64_t kCall = 0x200;
inline constexpr std::uint64_t kProxy = 0x400;
inline constexpr std::uint64_t kNvls = 0x800;
inline constexpr std::uint64_t kBootstrap = 0x1000;
inline constexpr std::uint64_t kReg = 0x2000;
inline constexpr std::uint64_t kProfile = 0x4000;
inline constexpr std::uint64_t kRas = 0x8000;
inline constexpr std::uint64_t kDestroy = 0x10000;
inline constexpr std::uint64_t kAllocHost = 0x20000;
inline constexpr std::uint64_t kAll = ~std::uint64_t{0};
}  // namespace log_subsystem

namespace detail {
/// Subsystems whose INFO and TRACE lines are wanted. All ones until the log is opened, so that the
/// first line of any kind takes the slow path, which opens it.
extern std::atomic<std::uint64_t> log_info_mask;
extern std::atomic<std::uint64_t> log_trace_mask;

/// Opens the log if it is not open, and says whether such a line is wanted.
bool log_wanted(LogLevel level, std::uint64_t subsystem) noexcept;
void log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;
}  // namespace detail

/// A fault worth a look. Always kept for ncclGetLastError, whatever NCCL_DEBUG says.
template <typename... Args>
void log_warn([[maybe_unused]] std::uint64_t subsystem, fmt::format_string<Args...> format,
              Args&&... args) noexcept {
  detail::log_line(LogLevel::kWarn, format, fmt::make_format_args(args...));
}

/// What the library decides.
template <typename... Args>
void log_info(std::uint64_t subsystem, fmt::format_string<Args...> format,
              Args&&... args) noexcept {
  if ((detail::log_info_mask.load(std::memory_order_relaxed) & subsystem) == 0) return;
  if (!detail::log_wanted(LogLevel::kInfo, subsystem)) return;
  detail::log_line(LogLevel::kInfo, format, fmt::make_format_args(args...));
}

/// Every step.
template <typename... Args>
void log_trace(std::uint64_t subsystem, fmt::format_string<Args...> format,
               Args&&... args) noexcept {
  if ((detail::log_trace_mask.load(std::memory_order_relaxed) & subsystem) == 0) return;
  if (!detail::log_wanted(LogLevel::kTrace, subsystem)) return;
  detail::log_line(LogLevel::kTrace, format, fmt::make_format_args(args...));
}

/// The line of the version, as it stands; wanted from level VERSION up, once for the process.
void log_version(std::string_view text) noexcept;

/// Whether an INFO line of `subsystem` would be written: for lines that cost something to make.
[[nodiscard]] bool log_info_enabled(std::uint64_t subsystem) noexcept;

/// Reads the log's variables again and opens its file again (ncclResetDebugInit).
void log_reset() noexcept;

/// Who tells the number in brackets: the calling thread's current device. Without one it is 0.
void set_log_device(int (*current_device)() noexcept) noexcept;

/// Subsystems named by a NCCL_DEBUG_SUBSYS text; unknown names go to `unknown`, comma-separated.
std::uint64_t parse_log_subsystems(std::string_view text, std::string& unknown);
/// A NCCL_DEBUG_FILE text with %h, %p and %% replaced.
std::string expand_log_file_name(std::string_view pattern, std::string_view host, int pid);
/// A time stamp: strftime's letters, and %1f to %9f for digits of the second's fraction.
std::string format_time_stamp(std::string_view format, const timespec& time);

}  // namespace ripieno
