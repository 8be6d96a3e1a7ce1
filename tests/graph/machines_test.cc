// The graphs of every machine: valid, at least as good as the reference, within the bound, pinned,
// and the same however ranks are numbered.
#include "topo/machines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "graph/check.h"
#include "graph/references.h"
#include "graph/search.h"

namespace ripieno::graph {
namespace {

using topo::PathTable;
using topo::System;
namespace machines = topo::testing;

std::vector<std::string> all_machines() {
  std::vector<std::string> names = machines::machine_names();
  names.emplace_back("gb200-tray*2");
  names.emplace_back("gb200-tray*18");
  return names;
}

std::string text_of(const System& system, const GraphSet& set) {
  std::string text;
  for (const Graph* graph : graphs_of(set)) {
    text += fmt::format("{} {} {}x{:.4g}/{:.4g} of {:.4g} {}/{}{}\n", scope_name(graph->scope),
                        graph_name(graph->purpose, graph->pattern), graph->channels.size(),
                        graph->bw_intra, graph->bw_inter, graph->bound,
                        topo::path_name(graph->type_intra), topo::path_name(graph->type_inter),
                        graph->cross_nic != 0 ? " crossing" : "");
    for (const Channel& channel : graph->channels) {
      std::vector<int> ranks;
      for (const int gpu : channel.gpus) {
        ranks.push_back(system.rank_of(system.gpus()[static_cast<std::size_t>(gpu)]));
      }
      text += fmt::format("  {} [{} {}]\n", fmt::join(ranks, " "), channel.net_in, channel.net_out);
    }
  }
  return text;
}

GraphSet search(const PathTable& paths, Scope scope) {
  return search_graphs(paths, {.scope = scope});
}

TEST(Machines, GraphsAreAtLeastAsGoodAsTheReference) {
  std::map<std::pair<std::string, std::string>, GraphSet> found;
  for (const testing::Reference& reference : testing::kReferences) {
    const std::string name(reference.machine);
    const std::pair key(name, std::string(reference.scope));
    if (!found.contains(key)) {
      const System system = machines::load_machine(name);
      const PathTable paths(system, {});
      found[key] = search(paths, key.second == "intra" ? Scope::kIntra : Scope::kInter);
    }
    const GraphSet& set = found.at(key);
    const auto graphs = graphs_of(set);
    const auto graph = std::find_if(graphs.begin(), graphs.end(), [&](const Graph* one) {
      return purpose_name(one->purpose) == reference.purpose;
    });
    ASSERT_NE(graph, graphs.end()) << name << ' ' << reference.purpose;
    EXPECT_GE((*graph)->total(), reference.total_intra - 1e-6)
        << name << ' ' << reference.scope << ' ' << reference.purpose;
    if (key.second == "inter") {
      EXPECT_GE(static_cast<double>((*graph)->channels.size()) * (*graph)->bw_inter,
                reference.total_inter - 1e-6)
          << name << ' ' << reference.purpose;
    }
  }
}

TEST(Machines, GraphsAreValidAndPinned) {
  for (const std::string& name : all_machines()) {
    const System system = machines::load_machine(name);
    const PathTable paths(system, {});
    std::string now;
    for (const Scope scope : {Scope::kIntra, Scope::kInter}) {
      const GraphSet set = search(paths, scope);
      for (const Graph* graph : graphs_of(set)) testing::expect_valid(paths, *graph, name);
      now += text_of(system, set);
    }
    std::string file = name;
    std::replace(file.begin(), file.end(), '*', 'x');
    EXPECT_EQ(machines::pinned(std::string(RIPIENO_TEST_PINS) + "/" + file + ".graphs", now), now)
        << name;
  }
}

TEST(Machines, RingsAndTreesAreAsMany) {
  for (const std::string& name : all_machines()) {
    const System system = machines::load_machine(name);
    const PathTable paths(system, {});
    for (const Scope scope : {Scope::kIntra, Scope::kInter}) {
      const GraphSet set = search(paths, scope);
      EXPECT_EQ(set.ring.channels.size(), set.tree.channels.size()) << name;
      EXPECT_FALSE(set.ring.channels.empty()) << name;
    }
  }
}

TEST(Machines, NumberingOfRanksChangesNoWalk) {
  for (const std::string& name : machines::machine_names()) {
    topo::Document document = topo::load_document(machines::machine_file(name));
    const System before = topo::read_system(document);
    std::vector<int> ranks(before.gpus().size());
    for (std::size_t index = 0; index < ranks.size(); ++index)
      ranks[index] = static_cast<int>(index);
    std::mt19937 random(3);
    std::shuffle(ranks.begin(), ranks.end(), random);
    const auto renumber = [&](auto&& self, topo::Element& element) -> void {
      if (element.name == "gpu") {
        element.set("rank", std::to_string(
                                ranks[static_cast<std::size_t>(std::stoi(*element.find("rank")))]));
      }
      std::shuffle(element.children.begin(), element.children.end(), random);
      for (topo::Element& child : element.children) self(self, child);
    };
    renumber(renumber, document.root);
    const System after = topo::read_system(document);
    const PathTable paths_before(before, {});
    const PathTable paths_after(after, {});
    const GraphSet one = search(paths_before, Scope::kInter);
    const GraphSet other = search(paths_after, Scope::kInter);
    ASSERT_EQ(one.ring.channels.size(), other.ring.channels.size()) << name;
    for (std::size_t channel = 0; channel < one.ring.channels.size(); ++channel) {
      EXPECT_EQ(one.ring.channels[channel].gpus, other.ring.channels[channel].gpus) << name;
    }
    EXPECT_DOUBLE_EQ(one.tree.total(), other.tree.total()) << name;
  }
}

TEST(Machines, CardsAreCrossedOnlyWhereAllowed) {
  const System system = machines::load_machine("dgx-h100");
  const PathTable paths(system, {});
  EXPECT_EQ(search_graphs(paths, {.scope = Scope::kInter}).ring.cross_nic, 2);
  const GraphSet straight = search_graphs(paths, {.scope = Scope::kInter, .cross_nic = 0});
  EXPECT_EQ(straight.ring.cross_nic, 0);
  for (const Channel& channel : straight.ring.channels) {
    EXPECT_EQ(channel.net_in, channel.net_out);
  }
}

TEST(Machines, FewerChannelsCanBeAskedFor) {
  const System system = machines::load_machine("dgx-h100");
  const PathTable paths(system, {});
  const GraphSet set = search_graphs(paths, {.least_channels = 2, .most_channels = 4});
  EXPECT_LE(set.ring.channels.size(), 4U);
  EXPECT_LE(set.tree.channels.size(), 4U);
  testing::expect_valid(paths, set.ring, "few");
}

TEST(Machines, NothingToSearchIsNoError) {
  const System none = machines::system_of("<system><cpu numaid='0'/></system>");
  const PathTable empty(none, {});
  EXPECT_TRUE(search(empty, Scope::kIntra).ring.channels.empty());
  const System alone = machines::system_of(
      "<system><cpu numaid='0'><pci busid='1:0.0'><gpu dev='0' rank='0'/></pci>"
      "<pci busid='2:0.0'><gpu dev='1' rank='1'/></pci></cpu></system>");
  const PathTable paths(alone, {});
  EXPECT_FALSE(search(paths, Scope::kIntra).ring.channels.empty());
  EXPECT_TRUE(search(paths, Scope::kInter).ring.channels.empty());
}

}  // namespace
}  // namespace ripieno::graph
