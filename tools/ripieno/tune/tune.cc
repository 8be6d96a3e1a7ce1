// `ripieno tune`: measures every algorithm that this machine can run, function by function, and
// writes the table that RIPIENO_TUNING_FILE names in later runs. Each measurement is a `ripieno
// perf` of its own, told by NCCL_ALGO what to use: what is measured is what programs get.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "command.h"
#include "command_line.h"
#include "tune/measured.h"
#include "words.h"

namespace ripieno::tool {
namespace {

using coll::Function;
using nlohmann::json;
using tune::Algorithm;
using tune::MeasuredTable;
using tune::Protocol;

constexpr const char* kDescription =
    "Measures the algorithms that this machine can run and writes a table of their times.\n"
    "Set RIPIENO_TUNING_FILE to that file, on all ranks, to let it decide.";

constexpr const char* kFooter =
    "Measure on a quiet machine, with as many processes as jobs will have.\n\n"
    "Examples:\n"
    "  ripieno tune -o table.json\n"
    "  ripieno tune --procs 2,4,8 --functions all_reduce,all_gather -o table.json";

struct Measurable {
  const char* perf_name;
  Function function;
};
constexpr std::array<Measurable, 8> kMeasurables = {{{"all_reduce", Function::kAllReduce},
                                                     {"all_gather", Function::kAllGather},
                                                     {"reduce_scatter", Function::kReduceScatter},
                                                     {"broadcast", Function::kBroadcast},
                                                     {"reduce", Function::kReduce},
                                                     {"alltoall", Function::kAlltoAll},
                                                     {"scatter", Function::kScatter},
                                                     {"gather", Function::kGather}}};

struct Way {
  Algorithm algorithm;
  Protocol protocol;
  std::uint64_t most_bytes;
};
/// One-shot carries no more than this.
constexpr std::array<Way, 2> kWays = {
    {{Algorithm::kOneShot, Protocol::kLl, std::uint64_t{64} << 10},
     {Algorithm::kDirect, Protocol::kSimple, ~std::uint64_t{0}}}};

struct Options {
  std::string output = "ripieno-tuning.json";
  std::vector<int> processes = {2, 4};
  std::vector<std::string> functions{};
  std::string most_bytes = "64M";
  int iterations = 20;
  int rounds = 3;
};

const Measurable& find_function(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Measurable& one : kMeasurables) {
    if (name == one.perf_name) return one;
    names.emplace_back(one.perf_name);
  }
  throw UsageError(unknown_word("function", name, names));
}

/// A name for a file that is removed with the object.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("ripieno-tune-{}.json", ::getpid())) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Runs this command as `perf` with `words`; its tables go nowhere.
void run_perf(std::vector<std::string> words, const std::string& algorithm) {
  words.insert(words.begin(), {"ripieno", "perf"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw Error::system("cannot start a measurement (fork)", errno);
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::setenv("NCCL_ALGO", algorithm.c_str(), 1);
    ::unsetenv("NCCL_PROTO");
    ::unsetenv("RIPIENO_TUNING_FILE");
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(kExitNotExecutable);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kExitOk) {
    throw Error(ncclSystemError, "`ripieno {}` failed with {}",
                fmt::join(words.begin() + 1, words.end(), " "),
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

/// Measures one way of one function; keeps the best of all rounds. `machine` is what perf says.
MeasuredTable::Series measure(const Options& options, const Measurable& what, int ranks,
                              const Way& way, json& machine) {
  const ScratchFile file;
  const std::uint64_t most =
      std::min(parse_bytes(options.most_bytes, "--maxbytes"), way.most_bytes);
  std::map<std::uint64_t, double> best;
  for (int round = 0; round < options.rounds; ++round) {
    run_perf({what.perf_name, "--procs", std::to_string(ranks), "-b", "8", "-e",
              std::to_string(most), "-f", "4", "-n", std::to_string(options.iterations), "-w", "2",
              "-c", "0", "-J", file.path().string()},
             std::string(tune::algorithm_name(way.algorithm)));
    std::ifstream stream(file.path());
    const json report = json::parse(stream);
    machine = report.at("machine");
    for (const json& row : report.at("rows")) {
      const auto bytes = row.at("bytes").get<std::uint64_t>();
      const auto us = row.at("out_of_place").at("time_us").get<double>();
      const auto [known, is_new] = best.try_emplace(bytes, us);
      if (!is_new) known->second = std::min(known->second, us);
    }
  }
  return {.function = what.function,
          .ranks = ranks,
          .algorithm = way.algorithm,
          .protocol = way.protocol,
          .points = {best.begin(), best.end()}};
}

/// Where the first way stops being the faster one, for people.
std::string border_text(const MeasuredTable::Series& one_shot,
                        const MeasuredTable::Series& direct) {
  std::uint64_t border = 0;
  for (std::size_t at = 0; at < std::min(one_shot.points.size(), direct.points.size()); ++at) {
    if (one_shot.points[at].second > direct.points[at].second) break;
    border = one_shot.points[at].first;
  }
  return border == 0 ? "Direct always" : "OneShot up to " + readable_bytes(border);
}

void save(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error::system(fmt::format("cannot write '{}'", name), errno);
}

}  // namespace

int tune_command(int count, char** arguments) {
  CLI::App app(kDescription, "ripieno tune");
  app.footer(kFooter);
  Options options;
  app.add_option("-o,--output", options.output, "File to write (ripieno-tuning.json)")
      ->type_name("FILE");
  app.add_option("--procs", options.processes, "Numbers of processes, a comma list (2,4)")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(2, 1024));
  app.add_option("--functions", options.functions, "Functions by perf's names, a comma list (all)")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("-e,--maxbytes", options.most_bytes, "Largest size (64M)")->type_name("BYTES");
  app.add_option("-n,--iters", options.iterations, "Timed iterations a size (20)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--rounds", options.rounds, "Times to measure, of which the best counts (3)")
      ->type_name("N")
      ->check(CLI::Range(1, 100));
  if (!parse_command_line(app, "[OPTIONS]", count, arguments)) return kExitOk;
  if (options.functions.empty()) {
    for (const Measurable& one : kMeasurables) options.functions.emplace_back(one.perf_name);
  }
  std::vector<MeasuredTable::Series> all;
  json machine = json::object();
  for (const int ranks : options.processes) {
    for (const std::string& name : options.functions) {
      const Measurable& what = find_function(name);
      for (const Way& way : kWays) all.push_back(measure(options, what, ranks, way, machine));
      fmt::print("{:<15} {:>4} ranks: {}\n", name, ranks,
                 border_text(all[all.size() - 2], all.back()));
      std::fflush(stdout);
    }
  }
  save(options.output, tune::write_measured(all, machine.dump()));
  fmt::print("{} series written; use them with RIPIENO_TUNING_FILE={}\n", all.size(),
             std::filesystem::absolute(options.output).string());
  return kExitOk;
}

}  // namespace ripieno::tool
