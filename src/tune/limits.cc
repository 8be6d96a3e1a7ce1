#include "tune/limits.h"

#include <charconv>
#include <string>

#include "base/log.h"
#include "base/parameters.h"

namespace ripieno::tune {
namespace {

constexpr IntParameter kMinCtas{"NCCL_MIN_CTAS"};
constexpr IntParameter kMaxCtas{"NCCL_MAX_CTAS"};
constexpr IntParameter kMinChannels{"NCCL_MIN_NCHANNELS"};
constexpr IntParameter kMaxChannels{"NCCL_MAX_NCHANNELS"};
constexpr IntParameter kMinRings{"NCCL_MIN_NRINGS"};
constexpr IntParameter kMaxRings{"NCCL_MAX_NRINGS"};
constexpr IntParameter kThreads{"NCCL_NTHREADS"};
constexpr IntParameter kLl128Threads{"NCCL_LL128_NTHREADS"};
constexpr StringParameter kThresholds{"NCCL_THREAD_THRESHOLDS"};
constexpr IntParameter kPat{"NCCL_PAT_ENABLE"};
constexpr IntParameter kNetOverhead{"NCCL_NET_OVERHEAD"};
constexpr BoolParameter kLl128C2c{"NCCL_LL128_C2C"};
constexpr IntParameter kNvlsChannels{"NCCL_NVLS_NCHANNELS"};

constexpr int kWarp = 32;

int newest_of(std::initializer_list<IntParameter> names, int otherwise) {
  for (const IntParameter& name : names) {
    if (name.is_set()) return static_cast<int>(name.value());
  }
  return otherwise;
}

/// Whole warps: a number in between is rounded down, and said so.
std::optional<int> threads_of(const IntParameter& parameter) {
  if (!parameter.is_set()) return std::nullopt;
  const auto given = static_cast<int>(parameter.value());
  const int whole = given / kWarp * kWarp;
  if (whole != given) {
    log_warn(log_subsystem::kEnv, "{}={} is no multiple of {}; {} is used", parameter.name(), given,
             kWarp, whole);
  }
  return whole;
}

std::optional<std::array<std::array<int, kProtocols>, 2>> parse_thresholds(
    const std::string& text) {
  std::array<std::array<int, kProtocols>, 2> thresholds{};
  const char* next = text.data();
  const char* const end = next + text.size();
  for (std::size_t index = 0; index < 2 * kProtocols; ++index) {
    while (next != end && (*next == ' ' || (index > 0 && *next == ','))) ++next;
    int& value = thresholds[index / kProtocols][index % kProtocols];
    const auto [stop, fault] = std::from_chars(next, end, value);
    if (fault != std::errc{} || value < 0) return std::nullopt;
    next = stop;
  }
  return next == end ? std::optional(thresholds) : std::nullopt;
}

}  // namespace

Limits Limits::from_parameters(int min_channels, int max_channels) {
  Limits limits;
  limits.min_channels = newest_of({kMinCtas, kMinChannels, kMinRings}, min_channels);
  limits.max_channels = newest_of({kMaxCtas, kMaxChannels, kMaxRings}, max_channels);
  if (limits.min_channels > limits.max_channels) {
    log_warn(log_subsystem::kEnv,
             "the fewest channels ({}) are more than the most ({}); {} are used",
             limits.min_channels, limits.max_channels, limits.max_channels);
    limits.min_channels = limits.max_channels;
  }
  limits.threads = threads_of(kThreads);
  limits.ll128_threads = threads_of(kLl128Threads);
  if (kThresholds.is_set()) {
    limits.thresholds = parse_thresholds(kThresholds.value());
    if (!limits.thresholds) {
      log_warn(
          log_subsystem::kEnv,
          "NCCL_THREAD_THRESHOLDS='{}' (set by {}) is not six numbers (LL LL128 Simple of trees, "
          "then of rings); the defaults hold",
          kThresholds.value(), kThresholds.source());
    }
  }
  limits.pat = static_cast<int>(kPat.value());
  if (kNetOverhead.is_set()) {
    limits.net_overhead_us = static_cast<double>(kNetOverhead.value()) / 1000.0;
  }
  limits.ll128_over_c2c = kLl128C2c.value();
  if (kNvlsChannels.is_set()) limits.nvls_channels = static_cast<int>(kNvlsChannels.value());
  return limits;
}

}  // namespace ripieno::tune
