// A file and a detected machine made one.
#include "topo/merge.h"

#include <gtest/gtest.h>

#include "topo/machines.h"

namespace ripieno::topo {
namespace {

Document parse(const std::string& text) {
  return parse_document(text, "test.xml");
}

// What vendors give to users of virtual machines: where things are, and nothing else.
constexpr const char* kRecipe = R"(<system version="1">
  <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>)";

// What the machine itself shows: everything hangs on one CPU.
constexpr const char* kFound = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="0001:00:00.0" class="0x030200" link_speed="" link_width="0">
      <gpu dev="0" sm="80" gdr="1"/>
    </pci>
    <pci busid="0101:00:00.0" class="0x020700" link_speed="" link_width="0">
      <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" gdr="1"/></nic>
    </pci>
  </cpu>
</system>)";

TEST(Merge, TheFileKnowsWhereAndTheMachineKnowsWhat) {
  const System system = read_system(merge_documents(parse(kRecipe), parse(kFound)));
  ASSERT_EQ(system.gpus().size(), 1U);
  ASSERT_EQ(system.nets().size(), 1U);
  const PathTable paths(system, {});
  EXPECT_EQ(paths.gpu_to_net(0, 0).type, PathType::kPciSwitch);
  EXPECT_DOUBLE_EQ(paths.gpu_to_net(0, 0).gbps, 24.0);
  // Without the file the card looks as if it were behind the CPU.
  const System alone = read_system(parse(kFound));
  EXPECT_EQ(PathTable(alone, {}).gpu_to_net(0, 0).type, PathType::kHostBridge);
}

TEST(Merge, WhatOnlyTheMachineShowsIsAdded) {
  const Document merged = merge_documents(parse("<system version='1'/>"), parse(kFound));
  EXPECT_EQ(read_system(merged).gpus().size(), 1U);
}

TEST(Merge, AnElementUnderItsOwnDescendantIsFoundThere) {
  const Document file = parse(
      "<system><cpu numaid='0'><pci busid='1:0.0'><pci busid='2:0.0'/></pci>"
      "</cpu></system>");
  const Document found = parse(
      "<system><cpu numaid='0'><pci busid='2:0.0'><pci busid='1:0.0'>"
      "<pci busid='3:0.0'/></pci></pci></cpu></system>");
  const Document merged = merge_documents(file, found);
  const Element& outer = merged.root.children.at(0).children.at(0);
  EXPECT_EQ(outer.get("busid"), "1:0.0");
  EXPECT_EQ(outer.children.size(), 2U);
}

TEST(Merge, AWholeMachineMergedWithItselfIsItself) {
  for (const std::string& name : testing::machine_names()) {
    const Document document = load_document(testing::machine_file(name));
    EXPECT_EQ(write_document(merge_documents(document, document).root),
              write_document(document.root))
        << name;
  }
}

TEST(Merge, RanksAreGivenByBusIdAndOthersGo) {
  Document document = load_document(testing::machine_file("dgx-h100"));
  const System whole = read_system(document);
  const std::string first = whole.node(whole.gpus()[0]).bus_id;
  const std::string last = whole.node(whole.gpus()[7]).bus_id;
  assign_ranks(document.root, {{first, 1}, {last, 0}});
  const System part = read_system(document);
  ASSERT_EQ(part.gpus().size(), 2U);
  EXPECT_EQ(part.rank_of(part.gpus()[0]), 1);
  EXPECT_EQ(part.rank_of(part.gpus()[1]), 0);
}

}  // namespace
}  // namespace ripieno::topo
