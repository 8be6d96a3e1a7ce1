// The command `ripieno`: finds the subcommand and turns what it throws into one sentence and an
// exit code.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "command.h"
#include "words.h"

namespace ripieno::tool {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view summary;
  int (*run)(int count, char** arguments);
};

constexpr std::array<Subcommand, 7> kSubcommands = {{
    {"perf", "time a collective over a range of sizes, and check every result", perf_command},
    {"run", "run a program with this library as its NCCL", run_command},
    {"env", "show or check the parameters that the environment sets", env_command},
    {"ps", "show what the ranks of live communicators on this host are doing", ps_command},
    {"topo", "show a machine, its paths and its best rings and trees", topo_command},
    {"tune", "measure this machine's algorithms for later runs", tune_command},
    {"version", "print versions", version_command},
}};

void print_help(std::FILE* stream) {
  fmt::print(stream,
             "Collective communication with the NCCL API, on GPUs and on hosts with none.\n\n"
             "Usage: ripieno SUBCOMMAND [OPTIONS]\n\nSubcommands:\n");
  for (const Subcommand& subcommand : kSubcommands) {
    fmt::print(stream, "  {:<9} {}\n", subcommand.name, subcommand.summary);
  }
  fmt::print(stream,
             "\nripieno SUBCOMMAND --help explains each.\n\nExamples:\n"
             "  ripieno perf all_reduce --procs 4 -b 8 -e 64M -f 2\n"
             "  mpirun -n 4 ripieno perf all_gather -b 1M -e 1M\n"
             "  ripieno run -- ./program_that_uses_nccl\n"
             "  ripieno env --check\n");
}

const Subcommand& find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Subcommand& subcommand : kSubcommands) {
    if (subcommand.name == name) return subcommand;
    names.push_back(subcommand.name);
  }
  throw UsageError(unknown_word("subcommand", name, names));
}

int dispatch(int count, char** arguments) {
  if (count < 2) {
    print_help(stderr);
    return kExitBadUsage;
  }
  const std::string_view word = arguments[1];
  if (word == "--help" || word == "-h" || word == "help") {
    print_help(stdout);
    return kExitOk;
  }
  if (word == "--version") return version_command(count - 1, arguments + 1);
  const Subcommand& subcommand = find(word);
  return subcommand.run(count - 1, arguments + 1);
}

}  // namespace
}  // namespace ripieno::tool

int main(int count, char** arguments) {
  using namespace ripieno::tool;
  const std::string name =
      count > 1 && arguments[1][0] != '-' ? fmt::format("ripieno {}", arguments[1]) : "ripieno";
  try {
    return dispatch(count, arguments);
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return kExitBadUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return kExitFailed;
  }
}
