// The command line of `ripieno perf`.
#include "perf/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "command.h"
#include "command_line.h"
#include "words.h"

namespace ripieno::tool::perf {
namespace {

/// Values as typed, where turning them into settings needs more than a number.
struct Typed {
  std::string collective;
  std::string first = "32M";
  std::string last = "32M";
  std::string step = "1M";
  std::string root = "0";
  std::string op = "sum";
  std::string type = "float";
  int blocking = 0;
  int parallel_init = 0;
  int time_of = 1;
  int registration = 0;
  int timeout = 0;
};

constexpr const char* kDescription =
    "Times a collective over a range of sizes and checks every element of every\n"
    "result. Ranks are processes (--procs, or those of mpirun, srun or torchrun),\n"
    "threads (-t) and devices of a thread (-g); their numbers multiply.";

constexpr const char* kFooter =
    "COLLECTIVE is all_reduce, all_gather, reduce_scatter, broadcast, reduce,\n"
    "alltoall, gather, scatter or sendrecv (each rank sends to the next one).\n\n"
    "Sizes: the bytes of one rank's buffer; for all_gather and gather of the whole\n"
    "receive buffer, for reduce_scatter, scatter and alltoall of the whole send\n"
    "buffer. There `count` is one rank's part, rounded down to 16 bytes.\n"
    "algbw is size / time. busbw is algbw times 2(n-1)/n for all_reduce, (n-1)/n for\n"
    "those with parts, 1 for the others.\n\n"
    "Several hosts: set MASTER_ADDR and MASTER_PORT; the next port is used to meet.\n"
    "Ends with 0 if all is right, 1 after a wrong element or a failed rank, 2 for bad\n"
    "usage.\n\n"
    "Examples:\n"
    "  ripieno perf all_reduce --procs 4 -b 8 -e 64M -f 2\n"
    "  ripieno perf alltoall -t 2 -d all -b 1M -e 1M -J result.json\n"
    "  mpirun -n 4 ripieno perf reduce_scatter -b 1K -e 16M -f 4";

void describe_sizes(CLI::App& app, Settings& settings, Typed& typed) {
  const std::string group = "Sizes and data";
  app.add_option("-b,--minbytes", typed.first, "Smallest size (32M)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("-e,--maxbytes", typed.last, "Largest size (32M)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("-i,--stepbytes", typed.step, "Add this from size to size (1M)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("-f,--stepfactor", settings.step_factor, "Or multiply by this")
      ->type_name("N")
      ->group(group);
  app.add_option("-o,--op", typed.op, "sum prod min max avg mulsum, or all (sum)")
      ->type_name("NAME")
      ->group(group);
  app.add_option(
         "-d,--datatype", typed.type,
         "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, or "
         "all (float)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("-r,--root", typed.root, "Root rank, or all (0)")->type_name("RANK")->group(group);
}

void describe_measurement(CLI::App& app, Settings& settings, Typed& typed) {
  const std::string group = "Measurement";
  app.add_option("-n,--iters", settings.iterations, "Timed iterations (20)")
      ->type_name("N")
      ->group(group);
  app.add_option("-m,--agg_iters", settings.aggregated, "Operations in one group (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-w,--warmup_iters", settings.warm_ups, "Iterations before the clock runs (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-G,--cudagraph", settings.graph_launches,
                 "Capture the iterations as a graph and replay it N times (0: no graph)")
      ->type_name("N")
      ->group(group);
  app.add_option("-z,--blocking", typed.blocking, "1: wait after each iteration (0)")
      ->type_name("0|1")
      ->group(group);
  app.add_option("-a,--average", typed.time_of,
                 "Time of: 0 rank 0, 1 all on average, 2 the fastest, 3 the slowest rank (1)")
      ->type_name("0-3")
      ->group(group);
  app.add_option("-c,--check", settings.checks, "Checked runs with fresh data, 0 for none (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-T,--timeout", typed.timeout, "Give up on a size after this many seconds (never)")
      ->type_name("N")
      ->group(group);
  app.add_option("-J,--output_file", settings.json_file, "Write the results as JSON")
      ->type_name("FILE")
      ->group(group);
}

void describe_ranks(CLI::App& app, Settings& settings, Typed& typed) {
  const std::string group = "Ranks";
  app.add_option("--procs", settings.processes, "Processes to start (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-t,--nthreads", settings.threads, "Threads a process (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-g,--ngpus", settings.devices, "Devices, and so ranks, a thread (1)")
      ->type_name("N")
      ->group(group);
  app.add_option("-p,--parallel_init", typed.parallel_init,
                 "1: every thread initialises its own ranks (0)")
      ->type_name("0|1")
      ->group(group);
  app.add_option("-R,--local_register", typed.registration,
                 "Register the buffers: 1 each rank, 2 all as windows (0)")
      ->type_name("0-2")
      ->group(group);
}

void require(bool holds, std::string_view sentence) {
  if (!holds) throw UsageError(std::string(sentence));
}

int parse_root(const std::string& text) {
  if (text == "all" || text == "-1") return -1;
  int root = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), root);
  if (fault != std::errc{} || end != text.data() + text.size() || root < 0) {
    throw UsageError(fmt::format("--root is '{}'; give the number of a rank, or all", text));
  }
  return root;
}

bool parse_switch(int value, std::string_view option) {
  if (value != 0 && value != 1)
    throw UsageError(fmt::format("{} is {}; use 0 or 1", option, value));
  return value == 1;
}

void take(const Typed& typed, Settings& settings) {
  settings.collective = &find_collective(typed.collective);
  settings.types = select_types(typed.type);
  settings.operators = select_operators(typed.op);
  settings.first_bytes = parse_bytes(typed.first, "--minbytes");
  settings.last_bytes = parse_bytes(typed.last, "--maxbytes");
  settings.step_bytes = parse_bytes(typed.step, "--stepbytes");
  settings.root = parse_root(typed.root);
  settings.blocking = parse_switch(typed.blocking, "--blocking");
  settings.parallel_init = parse_switch(typed.parallel_init, "--parallel_init");
  require(typed.time_of >= 0 && typed.time_of <= 3, "--average is one of 0, 1, 2 and 3");
  settings.time_of = static_cast<TimeOf>(typed.time_of);
  require(typed.registration >= 0 && typed.registration <= 2,
          "--local_register is one of 0, 1 and 2");
  settings.registration = static_cast<Registration>(typed.registration);
  require(typed.timeout >= 0, "--timeout cannot be negative; 0 means no limit");
  settings.timeout = std::chrono::seconds(typed.timeout);
}

void validate(const Settings& settings) {
  require(settings.first_bytes <= settings.last_bytes, "--minbytes is larger than --maxbytes");
  require(settings.step_factor >= 0 && std::isfinite(settings.step_factor),
          "--stepfactor cannot be negative");
  require(settings.step_factor > 1 || settings.step_bytes > 0 ||
              settings.first_bytes == settings.last_bytes,
          "--stepbytes is 0, so the sizes would never reach --maxbytes");
  require(
      settings.step_factor <= 1 || settings.first_bytes > 0 || settings.last_bytes == 0,
      "--stepfactor cannot grow from 0 bytes; start with a larger --minbytes or use --stepbytes");
  require(settings.sizes().size() <= 1'000'000, "there would be more than a million sizes");
  require(settings.iterations >= 1, "--iters must be at least 1");
  require(settings.aggregated >= 1, "--agg_iters must be at least 1");
  require(settings.warm_ups >= 0, "--warmup_iters cannot be negative");
  require(settings.checks >= 0, "--check cannot be negative");
  require(settings.graph_launches >= 0, "--cudagraph cannot be negative");
  require(settings.processes >= 1, "--procs must be at least 1");
  require(settings.threads >= 1, "--nthreads must be at least 1");
  require(settings.devices >= 1, "--ngpus must be at least 1");
  require(settings.graph_launches == 0 || !settings.blocking,
          "--blocking waits after each iteration, which cannot be captured; leave out --cudagraph");
}

}  // namespace

std::vector<std::uint64_t> Settings::sizes() const {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = first_bytes; size <= last_bytes && sizes.size() <= 1'000'000;) {
    sizes.push_back(size);
    const std::uint64_t next =
        step_factor > 1 ? static_cast<std::uint64_t>(static_cast<double>(size) * step_factor)
                        : size + step_bytes;
    // A factor close to 1 must still leave a small size behind.
    size = std::max(next, size + 1);
  }
  return sizes;
}

std::optional<Settings> parse_settings(int count, const char* const* arguments) {
  Settings settings;
  Typed typed;
  CLI::App app(kDescription, "ripieno perf");
  app.add_option("COLLECTIVE", typed.collective, "What to measure")->required()->group("");
  describe_sizes(app, settings, typed);
  describe_measurement(app, settings, typed);
  describe_ranks(app, settings, typed);
  app.footer(kFooter);
  if (!parse_command_line(app, "COLLECTIVE [OPTIONS]", count, arguments)) return std::nullopt;
  take(typed, settings);
  validate(settings);
  return settings;
}

}  // namespace ripieno::tool::perf
