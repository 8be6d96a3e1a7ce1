// Tuner plugins: found by NCCL_TUNER_PLUGIN, of any version from 2 to 5, all seen through one small
// interface. A plugin that fails is warned about and no longer asked; what it writes where it may
// not is ignored.
#pragma once

#include <memory>
#include <string>

#include "tune/cost_model.h"

namespace ripieno::tune {

/// What a plugin is told when a communicator is made.
struct PluginRequest {
  std::uint64_t communicator = 0;
  int ranks = 1;
  int hosts = 1;
  int nvlink_domains = 1;
  int least_in_domain = 1;
  int most_in_domain = 1;
};

/// A plugin at work for one communicator. Thread-safe as far as the plugin is: calls for one
/// communicator never overlap.
class Plugin {
 public:
  virtual ~Plugin() = default;
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual int version() const noexcept = 0;
  /// Lets the plugin change `costs` and, where it wants to, the number of channels (0: ours).
  /// Throws Error with the plugin's result.
  virtual void adjust(const Query& query, CostTable& costs, int& channels) = 0;
};

/// Loads the plugin that the variables name and starts it for a communicator; null if there is
/// none, or if it fails (which is warned about). It may change `constants`.
[[nodiscard]] std::unique_ptr<Plugin> start_plugin(const PluginRequest& request,
                                                   PluginConstants& constants);

/// Where libraries are looked for, in this order, for a value of NCCL_TUNER_PLUGIN or its like;
/// empty where it disables plugins.
[[nodiscard]] std::vector<std::string> library_candidates(const std::string& value,
                                                          const std::string& prefix);

}  // namespace ripieno::tune
