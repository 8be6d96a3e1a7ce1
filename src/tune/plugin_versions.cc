#include "tune/plugin_versions.h"

#include <dlfcn.h>
#include <ripieno/plugins/tuner.h>

#include <bit>
#include <cstdarg>
#include <cstdio>
#include <type_traits>

#include "base/error.h"
#include "base/log.h"

namespace ripieno::tune {
namespace {

// What plugins get of the figures is the memory of ours.
static_assert(sizeof(PluginConstants) == sizeof(ncclTunerConstants_v5_t));
static_assert(std::is_trivially_copyable_v<PluginConstants>);

constexpr std::size_t kLineBytes = 1024;

/// A plugin's lines go into the library's log.
void plugin_log(int level, unsigned long subsystems, const char* /*file*/, int /*line*/,
                const char* format, ...) {
  std::array<char, kLineBytes> line{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  const std::string_view text(line.data());
  if (level == static_cast<int>(LogLevel::kWarn)) {
    log_warn(log_subsystem::kTuning, "TUNER/Plugin: {}", text);
  } else if (level == static_cast<int>(LogLevel::kTrace)) {
    log_trace(subsystems, "TUNER/Plugin: {}", text);
  } else {
    log_info(subsystems, "TUNER/Plugin: {}", text);
  }
}

void require(ncclResult_t result, const char* function) {
  if (result == ncclSuccess) return;
  throw Error(result, "{}() of the tuner plugin returned {}", function, result_name(result));
}

template <typename Interface>
const Interface& checked(const Interface* interface) {
  if (interface->init == nullptr || interface->getCollInfo == nullptr) {
    throw Error(ncclInvalidUsage, "the tuner plugin has no {}",
                interface->init == nullptr ? "init" : "getCollInfo");
  }
  return *interface;
}

std::string name_of(const char* name) {
  return name == nullptr ? "unnamed" : name;
}

/// Versions 2 to 4 start and end alike.
template <typename Interface>
class Older : public Plugin {
 public:
  Older(const Interface* interface, const PluginRequest& request) : interface_(checked(interface)) {
    require(interface_.init(static_cast<std::size_t>(request.ranks),
                            static_cast<std::size_t>(request.hosts), plugin_log, &context_),
            "init");
  }
  ~Older() override {
    if (interface_.destroy != nullptr) interface_.destroy(context_);
  }
  [[nodiscard]] std::string name() const override { return name_of(interface_.name); }

 protected:
  const Interface& interface_;
  void* context_ = nullptr;
};

class Version2 final : public Older<ncclTuner_v2_t> {
 public:
  using Older::Older;
  [[nodiscard]] int version() const noexcept override { return 2; }
  void adjust(const Query& query, CostTable& costs, int& channels) override {
    int algorithm = -1;
    int protocol = -1;
    const auto any = [&](Algorithm one, Algorithm other) {
      const auto& rows = costs.rows();
      for (std::size_t cell = 0; cell < kProtocols; ++cell) {
        if (rows[index_of(one)][cell] >= 0.0F || rows[index_of(other)][cell] >= 0.0F) return 1;
      }
      return 0;
    };
    require(interface_.getCollInfo(context_, static_cast<int>(query.function), query.bytes,
                                   any(Algorithm::kCollnetDirect, Algorithm::kCollnetChain),
                                   any(Algorithm::kNvls, Algorithm::kNvlsTree), query.operations,
                                   &algorithm, &protocol, &channels),
            "getCollInfo");
    if (algorithm < 0 || protocol < 0) return;
    if (algorithm >= static_cast<int>(kAlgorithms) || protocol >= static_cast<int>(kProtocols)) {
      throw Error(ncclInvalidUsage,
                  "the tuner plugin chose algorithm {} and protocol {}, which do not exist",
                  algorithm, protocol);
    }
    costs.rows()[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)] = 0.0F;
  }
};

class Version3 final : public Older<ncclTuner_v3_t> {
 public:
  using Older::Older;
  [[nodiscard]] int version() const noexcept override { return 3; }
  void adjust(const Query& query, CostTable& costs, int& channels) override {
    require(interface_.getCollInfo(context_, static_cast<int>(query.function), query.bytes,
                                   query.operations, reinterpret_cast<float**>(&costs.rows()),
                                   kAlgorithms, kProtocols, &channels),
            "getCollInfo");
  }
};

class Version4 final : public Older<ncclTuner_v4_t> {
 public:
  using Older::Older;
  [[nodiscard]] int version() const noexcept override { return 4; }
  void adjust(const Query& query, CostTable& costs, int& channels) override {
    require(interface_.getCollInfo(context_, static_cast<int>(query.function), query.bytes,
                                   query.operations, reinterpret_cast<float**>(&costs.rows()),
                                   kAlgorithms, kProtocols, query.registered ? 1 : 0, &channels),
            "getCollInfo");
  }
};

class Version5 final : public Plugin {
 public:
  Version5(const ncclTuner_v5_t* interface, const PluginRequest& request,
           PluginConstants& constants)
      : interface_(checked(interface)) {
    ncclNvlDomainInfo_v5_t domains = {.nNvlDomains = request.nvlink_domains,
                                      .minRanksPerNvlDomain = request.least_in_domain,
                                      .maxRanksPerNvlDomain = request.most_in_domain};
    auto figures = std::bit_cast<ncclTunerConstants_v5_t>(constants);
    require(
        interface_.init(&context_, request.communicator, static_cast<std::size_t>(request.ranks),
                        static_cast<std::size_t>(request.hosts), plugin_log, &domains, &figures),
        "init");
    constants = std::bit_cast<PluginConstants>(figures);
  }
  ~Version5() override {
    if (interface_.finalize != nullptr) interface_.finalize(context_);
  }
  [[nodiscard]] std::string name() const override { return name_of(interface_.name); }
  [[nodiscard]] int version() const noexcept override { return 5; }
  void adjust(const Query& query, CostTable& costs, int& channels) override {
    require(interface_.getCollInfo(context_, static_cast<int>(query.function), query.bytes,
                                   query.operations, reinterpret_cast<float**>(&costs.rows()),
                                   kAlgorithms, kProtocols, query.registered ? 1 : 0, &channels),
            "getCollInfo");
  }

 private:
  const ncclTuner_v5_t& interface_;
  void* context_ = nullptr;
};

}  // namespace

VersionedSymbol newest_tuner(void* library) noexcept {
  constexpr std::array<std::pair<int, const char*>, 4> kNames = {{{5, "ncclTunerPlugin_v5"},
                                                                  {4, "ncclTunerPlugin_v4"},
                                                                  {3, "ncclTunerPlugin_v3"},
                                                                  {2, "ncclTunerPlugin_v2"}}};
  for (const auto& [version, name] : kNames) {
    if (void* const pointer = dlsym(library, name)) return {.version = version, .pointer = pointer};
  }
  return {};
}

std::unique_ptr<Plugin> adapt_tuner(const VersionedSymbol& symbol, const PluginRequest& request,
                                    PluginConstants& constants) {
  switch (symbol.version) {
    case 5:
      return std::make_unique<Version5>(static_cast<const ncclTuner_v5_t*>(symbol.pointer), request,
                                        constants);
    case 4:
      return std::make_unique<Version4>(static_cast<const ncclTuner_v4_t*>(symbol.pointer),
                                        request);
    case 3:
      return std::make_unique<Version3>(static_cast<const ncclTuner_v3_t*>(symbol.pointer),
                                        request);
    default:
      return std::make_unique<Version2>(static_cast<const ncclTuner_v2_t*>(symbol.pointer),
                                        request);
  }
}

}  // namespace ripieno::tune
