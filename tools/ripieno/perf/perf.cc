// `ripieno perf`: from the command line to processes, and from processes to a session each.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "command.h"
#include "perf/meeting.h"
#include "perf/placement.h"
#include "perf/processes.h"
#include "perf/session.h"
#include "perf/settings.h"

namespace ripieno::tool {
namespace {

using namespace perf;

/// How long processes of a launcher may take to start.
constexpr std::chrono::seconds kMeetingPatience{60};

/// A process that --procs forked: nobody above it turns exceptions into sentences.
int run_child(const Settings& settings, Team team, JsonFile* json) {
  const int process = team.process();
  try {
    return Session(settings, process, std::move(team), json).run();
  } catch (const UsageError& error) {
    // All processes find the same fault; one of them tells.
    if (process == 0) fmt::print(stderr, "ripieno perf: {}\n", error.what());
    return kExitBadUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ripieno perf: {}\n", error.what());
    return kExitFailed;
  }
}

}  // namespace

int perf_command(int count, char** arguments) {
  const std::optional<Settings> settings = parse_settings(count, arguments);
  if (!settings) return kExitOk;
  const Placement placement = placement_from([](const char* name) { return std::getenv(name); });
  if (settings->processes > 1 && placement.processes > 1) {
    throw UsageError(fmt::format("{} has started {} processes already; leave out --procs",
                                 placement.launcher, placement.processes));
  }
  std::optional<JsonFile> json;
  if (!settings->json_file.empty() && placement.process == 0) json.emplace(settings->json_file);
  JsonFile* const file = json ? &*json : nullptr;
  if (settings->processes > 1) {
    return run_processes(settings->processes, settings->local_ranks(),
                         [&](Team team) { return run_child(*settings, std::move(team), file); });
  }
  return Session(*settings, placement.local_process, meet(placement, kMeetingPatience), file).run();
}

}  // namespace ripieno::tool
