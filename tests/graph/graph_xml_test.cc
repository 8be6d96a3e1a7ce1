// Graph files: what is written is read back, and what does not fit the machine is refused by line.
#include "graph/graph_xml.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/machines.h"

namespace ripieno::graph {
namespace {

namespace machines = topo::testing;

std::string refusal(const topo::PathTable& paths, const std::string& text) {
  try {
    (void)graphs_from_xml(topo::parse_document(text, "g.xml"), paths, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclInvalidUsage);
    return error.what();
  }
  return "accepted";
}

TEST(GraphXml, EveryMachineSurvivesWritingAndReading) {
  for (const std::string& name : machines::machine_names()) {
    const topo::System system = machines::load_machine(name);
    const topo::PathTable paths(system, {});
    for (const Scope scope : {Scope::kIntra, Scope::kInter}) {
      const GraphSet set = search_graphs(paths, {.scope = scope});
      const topo::Document document =
          topo::parse_document(topo::write_document(graphs_to_xml(set, system)), "written");
      const GraphSet again = graphs_from_xml(document, paths, {.scope = scope});
      const auto before = graphs_of(set);
      const auto after = graphs_of(again);
      ASSERT_EQ(before.size(), after.size()) << name;
      for (std::size_t index = 0; index < before.size(); ++index) {
        EXPECT_EQ(before[index]->pattern, after[index]->pattern) << name;
        EXPECT_NEAR(before[index]->bw_intra, after[index]->bw_intra, 1e-3) << name;
        EXPECT_EQ(before[index]->type_inter, after[index]->type_inter) << name;
        EXPECT_TRUE(after[index]->from_file);
        ASSERT_EQ(before[index]->channels.size(), after[index]->channels.size()) << name;
        for (std::size_t channel = 0; channel < before[index]->channels.size(); ++channel) {
          EXPECT_EQ(before[index]->channels[channel].gpus, after[index]->channels[channel].gpus);
          EXPECT_EQ(before[index]->channels[channel].net_in,
                    after[index]->channels[channel].net_in);
        }
      }
    }
  }
}

constexpr const char* kHead =
    "<graphs version='1'>\n<graph id='0' pattern='4' nchannels='1' speedintra='12' speedinter='12' "
    "typeintra='SYS' typeinter='PIX'>\n<channel>\n";

TEST(GraphXml, AFileForOtherDevicesIsRefusedWithTheLine) {
  const topo::System system = machines::load_machine("2gpu-nvlink-bridge");
  const topo::PathTable paths(system, {});
  const std::string head(kHead);
  const std::string tail = "</channel></graph></graphs>";
  EXPECT_EQ(refusal(paths, head + "<gpu dev='0'/>\n<gpu dev='1'/>\n<gpu dev='2'/>" + tail),
            "g.xml:6: <gpu dev=\"2\"> is not among the 2 in use");
  EXPECT_EQ(refusal(paths, head + "<gpu dev='0'/>\n<gpu dev='0'/>" + tail),
            "g.xml:5: GPU 0 is twice in the channel");
  EXPECT_EQ(refusal(paths, head + "<gpu dev='0'/>" + tail),
            "g.xml:3: the channel has 1 GPUs; 2 are in use");
  EXPECT_EQ(refusal(paths, "<system/>"),
            "g.xml:1: the root element is <system>; a graph file begins with <graphs>");
  EXPECT_EQ(refusal(paths, head + "<gpu dev='0'/><gpu dev='1'/>" + tail), "accepted");
}

TEST(GraphXml, GraphsThatTheFileDoesNotHaveAreSearched) {
  const topo::System system = machines::load_machine("2gpu-nvlink-bridge");
  const topo::PathTable paths(system, {});
  const std::string text =
      std::string(kHead) + "<gpu dev='1'/><gpu dev='0'/></channel></graph></graphs>";
  const GraphSet set = graphs_from_xml(topo::parse_document(text, "g.xml"), paths, {});
  EXPECT_TRUE(set.ring.from_file);
  EXPECT_EQ(set.ring.channels.front().gpus, (std::vector{1, 0}));
  EXPECT_FALSE(set.tree.from_file);
  EXPECT_FALSE(set.tree.channels.empty());
}

}  // namespace
}  // namespace ripieno::graph
