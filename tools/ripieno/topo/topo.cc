// `ripieno topo`: the machine, its paths and its channels; this machine's, or any that there is a
// topology file of.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "command.h"
#include "command_line.h"
#include "graph/graph_xml.h"
#include "topo/choices.h"
#include "topo/describe.h"
#include "topo/page.h"
#include "topo/read_system.h"
#include "topo/report.h"
#include "topo/subject.h"

namespace ripieno::tool {
namespace {

constexpr const char* kDescription =
    "Shows what a machine looks like to the library: what hangs from what, which path joins\n"
    "which, and which rings and trees run best. Without --file, the machine it runs on.\n"
    "`ripieno topo lint FILE` lists what is wrong with a topology file.";

constexpr const char* kFooter =
    "Examples:\n"
    "  ripieno topo\n"
    "  ripieno topo --file dgx.xml --paths --graphs\n"
    "  ripieno topo --file dgx.xml --gpus 4 --hosts 64 --graphs\n"
    "  ripieno topo --file dgx.xml --hosts 2 --choices\n"
    "  ripieno topo lint dgx.xml";

struct Options {
  SubjectOptions subject{};
  bool paths = false;
  bool verdicts = false;
  bool graphs = false;
  bool choices = false;
  bool dot = false;
  bool json = false;
  bool xml = false;
  std::string graphs_to{};
  std::string page_to{};
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("-F,--file", options.subject.file, "Topology file, as NCCL_TOPO_FILE takes it")
      ->type_name("FILE");
  app.add_option("--graph-file", options.subject.graph_file,
                 "Graph file to take instead of searching, as NCCL_GRAPH_FILE takes it")
      ->type_name("FILE");
  app.add_option("-g,--gpus", options.subject.gpus, "Use only so many GPUs of each host")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-n,--hosts", options.subject.hosts, "So many hosts like this one")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--trays", options.subject.trays,
                 "So many hosts like this one, joined by NVLink to one domain")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_flag("-p,--paths", options.paths, "Print the matrix of paths");
  app.add_flag("--verdicts", options.verdicts,
               "Print for every pair whether memory is accessed directly, and why");
  app.add_flag("-G,--graphs", options.graphs, "Print rings and trees");
  app.add_flag("-C,--choices", options.choices,
               "Print which algorithm the cost model chooses, by function and size");
  app.add_option("--write-graphs", options.graphs_to, "Write the graphs as a graph file")
      ->type_name("FILE");
  app.add_flag("--xml", options.xml, "Print the topology as a topology file");
  app.add_flag("--dot", options.dot, "Print a drawing for Graphviz");
  app.add_option("--html", options.page_to,
                 "Write a page that draws the machine, its rings and trees, and predictions")
      ->type_name("FILE");
  app.add_flag("--json", options.json, "Print everything as JSON");
}

void show(const Options& options, const Subject& subject) {
  if (options.json) {
    fmt::print("{}", subject_json(subject));
    return;
  }
  const bool only_tree = !options.paths && !options.verdicts && !options.graphs &&
                         !options.choices && !options.dot && !options.xml &&
                         options.graphs_to.empty() && options.page_to.empty();
  if (only_tree) fmt::print("{}", topo::draw_tree(subject.system));
  if (options.xml) fmt::print("{}", topo::write_document(subject.document.root));
  if (options.dot) fmt::print("{}", topo::draw_dot(subject.system));
  if (options.paths) fmt::print("{}", topo::draw_paths(*subject.paths));
  if (options.verdicts) fmt::print("{}", topo::draw_verdicts(*subject.paths));
  if (options.graphs) fmt::print("{}", graphs_text(subject));
  if (options.choices) fmt::print("{}", choices_text(subject));
}

void write_page(const Subject& subject, const std::string& name) {
  std::ofstream file(name, std::ios::binary);
  file << page_html(subject);
  file.close();
  if (!file) throw Error::system(fmt::format("cannot write '{}'", name), errno);
}

int lint(const std::string& file) {
  const topo::Document document = topo::load_document(file);
  if (document.root.name == "graphs") {
    throw UsageError(fmt::format("'{}' is a graph file; try --graph-file with --file", file));
  }
  const topo::Reading reading = topo::read_system_leniently(document);
  int errors = 0;
  for (const topo::Finding& finding : reading.findings) {
    const bool error = finding.severity == topo::Finding::Severity::kError;
    errors += error ? 1 : 0;
    fmt::print("{}:{}: {}: {}\n", file, finding.line, error ? "error" : "warning", finding.text);
  }
  fmt::print("{}: {} GPUs, {} networks, {} NUMA nodes; {} errors, {} warnings\n", file,
             reading.system.gpus().size(), reading.system.nets().size(),
             reading.system.cpus().size(), errors,
             static_cast<int>(reading.findings.size()) - errors);
  return errors == 0 ? kExitOk : kExitFailed;
}

int lint_command(int count, char** arguments) {
  CLI::App app("Lists what is wrong with a topology file, by line.", "ripieno topo lint");
  std::string file;
  app.add_option("FILE", file, "Topology file")->required();
  if (!parse_command_line(app, "FILE", count, arguments)) return kExitOk;
  return lint(file);
}

}  // namespace

int topo_command(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "lint") {
    return lint_command(count - 1, arguments + 1);
  }
  CLI::App app(kDescription, "ripieno topo");
  app.footer(kFooter);
  Options options;
  add_options(app, options);
  if (!parse_command_line(app, "[OPTIONS]", count, arguments)) return kExitOk;
  Subject subject;
  load_subject(options.subject, subject);
  if (options.graphs || options.choices || options.json || !options.graphs_to.empty() ||
      !options.page_to.empty()) {
    search_subject(options.subject, subject);
  }
  if (!options.graphs_to.empty()) {
    if (subject.in_use() == nullptr) throw UsageError("there is no network: no graphs to write");
    topo::save_document(graph::graphs_to_xml(*subject.in_use(), subject.system), options.graphs_to);
  }
  if (!options.page_to.empty()) write_page(subject, options.page_to);
  show(options, subject);
  return kExitOk;
}

}  // namespace ripieno::tool
