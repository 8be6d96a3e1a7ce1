// One small adapter for each version of the tuner interface.
#pragma once

#include <memory>

#include "tune/plugin.h"

namespace ripieno::tune {

struct VersionedSymbol {
  int version = 0;
  void* pointer = nullptr;
};

/// The newest interface that an open library offers.
[[nodiscard]] VersionedSymbol newest_tuner(void* library) noexcept;
/// Starts it. Throws Error with the plugin's result.
[[nodiscard]] std::unique_ptr<Plugin> adapt_tuner(const VersionedSymbol& symbol,
                                                  const PluginRequest& request,
                                                  PluginConstants& constants);

}  // namespace ripieno::tune
