// What is wanted (masks), where it goes (an spdlog sink over a descriptor) and how a line looks.
// The configuration is immutable once opened and replaced as a whole, so writers take no lock and a
// fork in the middle of a line leaves nothing locked in the child.
#include "base/log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parameters.h"
#include "base/process.h"
#include "base/unique_fd.h"

namespace ripieno {

namespace detail {
constinit std::atomic<std::uint64_t> log_info_mask{log_subsystem::kAll};
constinit std::atomic<std::uint64_t> log_trace_mask{log_subsystem::kAll};
}  // namespace detail

namespace {

constexpr EnumParameter<LogLevel> kLevel{"NCCL_DEBUG"};
constexpr StringParameter kSubsystems{"NCCL_DEBUG_SUBSYS"};
constexpr StringParameter kFile{"NCCL_DEBUG_FILE"};
constexpr StringParameter kStampFormat{"NCCL_DEBUG_TIMESTAMP_FORMAT"};
constexpr StringParameter kStampLevels{"NCCL_DEBUG_TIMESTAMP_LEVELS"};
constexpr BoolParameter kRaiseAfterWarn{"NCCL_WARN_ENABLE_DEBUG_INFO"};

/// Writes each message with one call. Appending keeps lines of several processes apart.
class DescriptorSink final : public spdlog::sinks::sink {
 public:
  explicit DescriptorSink(UniqueFd owned) : owned_(std::move(owned)), fd_(owned_.get()) {}
  explicit DescriptorSink(int borrowed) : fd_(borrowed) {}

  void log(const spdlog::details::log_msg& message) override {
    // An interrupted or refused log line is not worth an error; a partial one is continued.
    const char* from = message.payload.data();
    std::size_t left = message.payload.size();
    while (left > 0) {
      const ssize_t written = ::write(fd_, from, left);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      from += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  UniqueFd owned_;
  int fd_;
};

/// One opened log.
struct Log {
  LogLevel level = LogLevel::kNone;
  std::uint64_t subsystems = 0;
  std::uint64_t stamped_levels = 0;  ///< Bit per LogLevel.
  std::string stamp_format;
  std::unique_ptr<spdlog::logger> logger;
};

struct Logs {
  std::mutex mutex;
  std::atomic<const Log*> current{nullptr};
  std::vector<std::unique_ptr<Log>> all;  ///< Former ones too: a writer may still hold one.
  std::atomic<bool> version_written{false};
  std::atomic<int (*)() noexcept> current_device{nullptr};
};

Logs& logs() noexcept {
  // Never destroyed: threads may log while the process exits.
  static Logs* const the_one = new Logs;
  return *the_one;
}

struct Name {
  std::string_view name;
  std::uint64_t value;
};

constexpr Name kSubsystemNames[] = {
    {"INIT", log_subsystem::kInit},
    {"COLL", log_subsystem::kColl},
    {"P2P", log_subsystem::kP2p},
    {"SHM", log_subsystem::kShm},
    {"NET", log_subsystem::kNet},
    {"GRAPH", log_subsystem::kGraph},
    {"TUNING", log_subsystem::kTuning},
    {"ENV", log_subsystem::kEnv},
    {"ALLOC", log_subsystem::kAlloc},
    {"CALL", log_subsystem::kCall},
    {"PROXY", log_subsystem::kProxy},
    {"NVLS", log_subsystem::kNvls},
    {"BOOTSTRAP", log_subsystem::kBootstrap},
    {"REG", log_subsystem::kReg},
    {"PROFILE", log_subsystem::kProfile},
    {"RAS", log_subsystem::kRas},
    {"DESTROY", log_subsystem::kDestroy},
    {"ALLOC_HOST", log_subsystem::kAllocHost},
    {"ALL", log_subsystem::kAll},
};

constexpr std::uint64_t bit(LogLevel level) {
  return std::uint64_t{1} << static_cast<int>(level);
}

constexpr Name kLevelNames[] = {
    {"VERSION", bit(LogLevel::kVersion)}, {"WARN", bit(LogLevel::kWarn)},
    {"INFO", bit(LogLevel::kInfo)},       {"ABORT", bit(LogLevel::kAbort)},
    {"TRACE", bit(LogLevel::kTrace)},     {"ALL", ~std::uint64_t{0}},
};

/// The set that a comma list of names stands for; a leading ^ stands for all others.
std::uint64_t parse_names(std::string_view text, std::span<const Name> names,
                          std::string& unknown) {
  const bool inverted = text.starts_with('^');
  if (inverted) text.remove_prefix(1);
  std::uint64_t set = 0;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string word(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    std::ranges::transform(word, word.begin(),
                           [](unsigned char letter) { return std::toupper(letter); });
    const auto found = std::ranges::find(names, word, &Name::name);
    if (found != names.end()) {
      set |= found->value;
    } else if (!word.empty()) {
      unknown += (unknown.empty() ? "" : ",") + word;
    }
  }
  return inverted ? ~set : set;
}

std::string_view level_text(LogLevel level) {
  switch (level) {
    case LogLevel::kWarn:
      return "WARN";
    case LogLevel::kTrace:
      return "TRACE";
    default:
      return "INFO";
  }
}

void write_line(const Log& log, LogLevel level, std::string_view text) {
  fmt::memory_buffer line;
  const auto out = std::back_inserter(line);
  if ((log.stamped_levels & bit(level)) != 0) {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    fmt::format_to(out, "{}", format_time_stamp(log.stamp_format, now));
  }
  if (level != LogLevel::kVersion) {
    auto* const current_device = logs().current_device.load(std::memory_order_acquire);
    fmt::format_to(out, "{}:{}:{} [{}] NCCL {} ", host_name(), process_id(), thread_id(),
                   current_device != nullptr ? current_device() : 0, level_text(level));
  }
  fmt::format_to(out, "{}\n", text);
  log.logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

/// Where lines go; a file that cannot be opened becomes standard output and a warning.
spdlog::sink_ptr open_sink(std::string& warning) {
  const std::string& pattern = kFile.value();
  if (pattern.empty() || pattern == "stdout")
    return std::make_shared<DescriptorSink>(STDOUT_FILENO);
  if (pattern == "stderr") return std::make_shared<DescriptorSink>(STDERR_FILENO);
  const std::string path = expand_log_file_name(pattern, host_name(), process_id());
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file) return std::make_shared<DescriptorSink>(std::move(file));
  warning = fmt::format(
      "{}; log lines go to standard output",
      Error::system(fmt::format("Could not open NCCL_DEBUG_FILE {}", path), errno).what());
  return std::make_shared<DescriptorSink>(STDOUT_FILENO);
}

void write_opening_lines(const Log& log, std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    set_last_error(warning);
    if (log.level >= LogLevel::kWarn) write_line(log, LogLevel::kWarn, warning);
  }
  if (log.level < LogLevel::kInfo || (log.subsystems & log_subsystem::kEnv) == 0) return;
  for (std::size_t row = 0; row < parameter_rows().size(); ++row) {
    const auto& value = parameters().at(row);
    if (value.source.empty()) continue;
    write_line(
        log, LogLevel::kInfo,
        fmt::format("{} set by {} to {}", parameter_rows()[row].name, value.source, value.text));
  }
}

void publish(const Log* log) {
  const bool info = log->level >= LogLevel::kInfo;
  const bool trace = log->level >= LogLevel::kTrace;
  detail::log_info_mask.store(info ? log->subsystems : 0, std::memory_order_relaxed);
  detail::log_trace_mask.store(trace ? log->subsystems : 0, std::memory_order_relaxed);
  logs().current.store(log, std::memory_order_release);
}

/// Under the lock.
const Log& open_log(Logs& owner) {
  auto log = std::make_unique<Log>();
  std::vector<std::string> warnings = parameters().warnings();
  std::string unknown;
  log->level = kLevel.value();
  log->subsystems = parse_names(kSubsystems.value(), kSubsystemNames, unknown);
  log->stamped_levels = parse_names(kStampLevels.value(), kLevelNames, unknown);
  log->stamp_format = kStampFormat.value();
  if (!unknown.empty()) {
    warnings.push_back(fmt::format(
        "NCCL_DEBUG_SUBSYS or NCCL_DEBUG_TIMESTAMP_LEVELS name what does not exist: {}", unknown));
  }
  // Nothing is created for a process that does not log.
  std::string warning;
  log->logger = std::make_unique<spdlog::logger>(
      "ripieno", log->level == LogLevel::kNone ? std::make_shared<DescriptorSink>(STDOUT_FILENO)
                                               : open_sink(warning));
  if (!warning.empty()) warnings.push_back(warning);
  owner.all.push_back(std::move(log));
  write_opening_lines(*owner.all.back(), warnings);
  publish(owner.all.back().get());
  return *owner.all.back();
}

const Log& current_log() {
  Logs& owner = logs();
  const Log* log = owner.current.load(std::memory_order_acquire);
  if (log != nullptr) return *log;
  const std::lock_guard lock(owner.mutex);
  log = owner.current.load(std::memory_order_relaxed);
  return log != nullptr ? *log : open_log(owner);
}

/// NCCL_WARN_ENABLE_DEBUG_INFO: a copy of the log in force that wants INFO as well.
void raise_to_info() {
  Logs& owner = logs();
  const std::lock_guard lock(owner.mutex);
  const Log* log = owner.current.load(std::memory_order_relaxed);
  if (log->level >= LogLevel::kInfo) return;
  auto raised = std::make_unique<Log>();
  raised->level = LogLevel::kInfo;
  raised->subsystems = log->subsystems;
  raised->stamped_levels = log->stamped_levels;
  raised->stamp_format = log->stamp_format;
  raised->logger = std::make_unique<spdlog::logger>("ripieno", log->logger->sinks().front());
  owner.all.push_back(std::move(raised));
  publish(owner.all.back().get());
}

}  // namespace

namespace detail {

bool log_wanted(LogLevel level, std::uint64_t subsystem) noexcept {
  try {
    const Log& log = current_log();
    return log.level >= level && (log.subsystems & subsystem) != 0;
  } catch (...) {
    return false;
  }
}

void log_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept {
  // A log that cannot be written must not fail what it tells of.
  try {
    const std::string text = fmt::vformat(format, arguments);
    const Log& log = current_log();
    if (level == LogLevel::kWarn) set_last_error(text);
    if (log.level < level) return;
    write_line(log, level, text);
    if (level == LogLevel::kWarn && kRaiseAfterWarn.value()) raise_to_info();
  } catch (...) {
    return;
  }
}

}  // namespace detail

void log_version(std::string_view text) noexcept {
  try {
    const Log& log = current_log();
    if (log.level < LogLevel::kVersion || logs().version_written.exchange(true)) return;
    write_line(log, LogLevel::kVersion, text);
  } catch (...) {
    return;
  }
}

bool log_info_enabled(std::uint64_t subsystem) noexcept {
  return (detail::log_info_mask.load(std::memory_order_relaxed) & subsystem) != 0 &&
         detail::log_wanted(LogLevel::kInfo, subsystem);
}

void log_reset() noexcept {
  try {
    Logs& owner = logs();
    reload_parameters();
    const std::lock_guard lock(owner.mutex);
    open_log(owner);
  } catch (...) {
    return;
  }
}

void set_log_device(int (*current_device)() noexcept) noexcept {
  logs().current_device.store(current_device, std::memory_order_release);
}

std::uint64_t parse_log_subsystems(std::string_view text, std::string& unknown) {
  return parse_names(text, kSubsystemNames, unknown);
}

std::string expand_log_file_name(std::string_view pattern, std::string_view host, int pid) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (next == 'h') {
      name += host;
    } else if (next == 'p') {
      name += fmt::format("{}", pid);
    } else if (next == '%') {
      name += '%';
    } else {
      name += pattern[at];
      continue;
    }
    ++at;
  }
  return name;
}

std::string format_time_stamp(std::string_view format, const timespec& time) {
  // Our own letters first; what is left is strftime's.
  std::string pattern;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const bool is_fraction = format[at] == '%' && at + 2 < format.size() && format[at + 1] >= '1' &&
                             format[at + 1] <= '9' && format[at + 2] == 'f';
    if (is_fraction) {
      pattern += fmt::format("{:09}", time.tv_nsec)
                     .substr(0, static_cast<std::size_t>(format[at + 1] - '0'));
      at += 2;
    } else {
      pattern += format[at];
    }
  }
  std::tm parts{};
  ::localtime_r(&time.tv_sec, &parts);
  std::array<char, 256> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), pattern.c_str(), &parts);
  return {text.data(), length};
}

}  // namespace ripieno
