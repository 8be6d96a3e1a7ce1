#include "tune/plugin.h"

#include <dlfcn.h>

#include <mutex>

#include "base/error.h"
#include "base/log.h"
#include "base/parameters.h"
#include "tune/plugin_versions.h"

namespace ripieno::tune {
namespace {

constexpr StringParameter kTunerPlugin{"NCCL_TUNER_PLUGIN"};
constexpr StringParameter kNetPlugin{"NCCL_NET_PLUGIN"};

constexpr std::string_view kNone = "none";
constexpr std::string_view kStatic = "STATIC_PLUGIN";

/// An open library, kept open as long as somebody uses it.
using Library = std::shared_ptr<void>;

Library open_library(const std::string& name, int flags) {
  void* const handle = name.empty() ? dlopen(nullptr, RTLD_NOW | RTLD_LOCAL)
                                    : dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == nullptr) return nullptr;
  return {handle, [](void* library) { dlclose(library); }};
}

/// The last reason why the loader refused, and whether it is more than "there is no such file".
std::string loader_error() {
  const char* const text = dlerror();
  return text == nullptr ? std::string() : text;
}

struct Found {
  Library library{};
  VersionedSymbol symbol{};
  std::string file{};
};

std::optional<Found> search(const std::vector<std::string>& candidates, int flags,
                            std::string& reasons) {
  for (const std::string& file : candidates) {
    Library library = open_library(file, flags);
    if (!library) {
      const std::string reason = loader_error();
      if (!reason.empty()) reasons += (reasons.empty() ? "" : "; ") + reason;
      continue;
    }
    const VersionedSymbol symbol = newest_tuner(library.get());
    if (symbol.pointer == nullptr) {
      reasons += fmt::format("{}{} has none of ncclTunerPlugin_v5 to v2",
                             reasons.empty() ? "" : "; ", file.empty() ? "the program" : file);
      continue;
    }
    return Found{.library = std::move(library), .symbol = symbol, .file = file};
  }
  return std::nullopt;
}

std::optional<Found> find_plugin() {
  const std::string& wanted = kTunerPlugin.value();
  if (wanted == kNone) return std::nullopt;
  std::string reasons;
  if (std::optional<Found> found =
          search(library_candidates(wanted, "libnccl-tuner"), 0, reasons)) {
    return found;
  }
  if (kTunerPlugin.is_set()) {
    log_warn(log_subsystem::kTuning,
             "NCCL_TUNER_PLUGIN='{}' (set by {}) cannot be used: {}; the cost model decides alone",
             wanted, kTunerPlugin.source(), reasons);
    return std::nullopt;
  }
  // A network plugin often brings a tuner along. It is asked for if somebody named it, else only
  // looked at if it has been loaded anyway.
  if (kNetPlugin.value() == kNone) return std::nullopt;
  return search(library_candidates(kNetPlugin.value(), "libnccl-net"),
                kNetPlugin.is_set() ? 0 : RTLD_NOLOAD, reasons);
}

/// Keeps the library open for as long as the plugin runs.
class Loaded final : public Plugin {
 public:
  Loaded(Library library, std::unique_ptr<Plugin> plugin)
      : library_(std::move(library)), plugin_(std::move(plugin)) {}

  [[nodiscard]] std::string name() const override { return plugin_->name(); }
  [[nodiscard]] int version() const noexcept override { return plugin_->version(); }
  void adjust(const Query& query, CostTable& costs, int& channels) override {
    const std::lock_guard lock(mutex_);
    plugin_->adjust(query, costs, channels);
  }

 private:
  std::mutex mutex_;
  Library library_;  // Closed after the plugin below has ended: members go in reverse order.
  std::unique_ptr<Plugin> plugin_;
};

}  // namespace

std::vector<std::string> library_candidates(const std::string& value, const std::string& prefix) {
  if (value.empty()) return {prefix + ".so"};
  if (value == kNone) return {};
  if (value.starts_with(kStatic)) return {std::string()};
  std::vector<std::string> candidates = {value};
  const bool is_file_name =
      value.find('/') != std::string::npos || (value.starts_with("lib") && value.ends_with(".so"));
  if (!is_file_name) candidates.push_back(prefix + "-" + value + ".so");
  return candidates;
}

std::unique_ptr<Plugin> start_plugin(const PluginRequest& request, PluginConstants& constants) {
  std::optional<Found> found = find_plugin();
  if (!found) return nullptr;
  try {
    std::unique_ptr<Plugin> plugin = adapt_tuner(found->symbol, request, constants);
    log_info(log_subsystem::kTuning | log_subsystem::kInit,
             "TUNER/Plugin: using {} (ncclTunerPlugin_v{} of {})", plugin->name(),
             plugin->version(), found->file.empty() ? "the program" : found->file);
    return std::make_unique<Loaded>(std::move(found->library), std::move(plugin));
  } catch (const Error& error) {
    log_warn(log_subsystem::kTuning, "tuner plugin {} is not used: {}", found->file, error.what());
    return nullptr;
  }
}

}  // namespace ripieno::tune
