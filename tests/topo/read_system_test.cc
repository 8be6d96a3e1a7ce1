// From elements to a machine: links, canonical order, and findings with their lines.
#include "topo/read_system.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "topo/machines.h"

namespace ripieno::topo {
namespace {

std::vector<std::string> findings(const std::string& text) {
  std::vector<std::string> lines;
  for (const Finding& finding : read_system_leniently(parse_document(text, "x.xml")).findings) {
    lines.push_back(std::to_string(finding.line) + ": " + finding.text);
  }
  return lines;
}

constexpr const char* kPair = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" rank="1"><nvlink target="0000:01:00.0" count="2" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0"><nvlink target="0000:02:00.0" count="2" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>)";

TEST(ReadSystem, GpusStandInTheOrderOfTheirBusIds) {
  const System system = testing::system_of(kPair);
  ASSERT_EQ(system.gpus().size(), 2U);
  EXPECT_EQ(system.rank_of(system.gpus()[0]), 0);
  EXPECT_EQ(system.rank_of(system.gpus()[1]), 1);
}

TEST(ReadSystem, ALinkThatBothEndsListIsCountedOnce) {
  const System system = testing::system_of(kPair);
  double nvlink = 0.0;
  for (LinkId id = 0; id < system.link_count(); ++id) {
    if (system.link(id).kind == LinkKind::kNvlink) nvlink += system.link(id).gbps;
  }
  EXPECT_DOUBLE_EQ(nvlink, 2 * 2 * 20.6);  // Two links, both directions.
}

TEST(ReadSystem, TheOrderOfElementsChangesNothing) {
  for (const std::string& name : testing::machine_names()) {
    Document document = load_document(testing::machine_file(name));
    const System before = read_system(document);
    std::mt19937 random(7);
    const auto shuffle = [&](auto&& self, Element& element) -> void {
      std::shuffle(element.children.begin(), element.children.end(), random);
      for (Element& child : element.children) self(self, child);
    };
    shuffle(shuffle, document.root);
    const System after = read_system(document);
    ASSERT_EQ(before.node_count(), after.node_count()) << name;
    for (NodeId id = 0; id < before.node_count(); ++id) {
      EXPECT_EQ(before.label(id), after.label(id)) << name;
      EXPECT_EQ(before.node(id).gpu.rank, after.node(id).gpu.rank) << name;
    }
  }
}

TEST(ReadSystem, TwoLevelsOfOneSwitchAreOne) {
  const System system = testing::load_machine("dgx-a100");
  const auto switches = [&] {
    int count = 0;
    for (NodeId id = 0; id < system.node_count(); ++id) {
      count += system.node(id).kind == NodeKind::kPciSwitch ? 1 : 0;
    }
    return count;
  }();
  EXPECT_EQ(switches, 4);
}

TEST(ReadSystem, FourHundredNodesAreNoMatter) {
  std::string text = "<system version='1'><cpu numaid='0' arch='x86_64' vendor='AuthenticAMD'>";
  for (int card = 0; card < 400; ++card) {
    text += fmt::format(
        "<pci busid='{:04x}:00:00.0' class='0x020700'><nic><net name='n{}' dev='{}' "
        "speed='400000' port='1' guid='{}'/></nic></pci>",
        card, card, card, card + 1);
  }
  EXPECT_EQ(testing::system_of(text + "</cpu></system>").nets().size(), 400U);
}

TEST(ReadSystem, CardsOfTheSameWireShareIt) {
  const System system = testing::system_of(
      "<system><cpu numaid='0'><pci busid='0000:01:00.0' class='0x020700'><nic>"
      "<net name='a' dev='0' port='1' guid='9'/><net name='b' dev='1' port='1' guid='9'/>"
      "<net name='c' dev='2' port='2' guid='9'/></nic></pci></cpu></system>");
  const auto group = [&](int net) {
    return system.node(system.nets()[static_cast<std::size_t>(net)]).net.port_group;
  };
  EXPECT_EQ(group(0), group(1));
  EXPECT_NE(group(0), group(2));
}

TEST(ReadSystem, FaultsAreFoundWithTheirLines) {
  EXPECT_EQ(findings("<graphs/>").front(),
            "1: the root element is <graphs>; a topology begins with <system>");
  EXPECT_EQ(findings("<system><cpu numaid='0'>\n<pci class='0x0302'/></cpu></system>").front(),
            "2: <pci> has no busid");
  EXPECT_EQ(findings("<system><cpu numaid='0'>\n<pci busid='zz'/></cpu></system>").front(),
            "2: <pci> busid=\"zz\" is not a bus id like 0000:1a:00.0");
  EXPECT_EQ(findings("<system><cpu numaid='zero'/></system>").front(),
            "1: <cpu> numaid=\"zero\" is not a whole number");
  EXPECT_EQ(findings("<system><cpu numaid='0'>\n<pci busid='1:0.0'>\n<gpu dev='0' rank='0'/></pci>"
                     "\n<pci busid='2:0.0'><gpu dev='1' rank='0'/></pci></cpu></system>")
                .front(),
            "4: a second <gpu rank=\"0\">");
  EXPECT_TRUE(findings(kPair).empty());
}

TEST(ReadSystem, TheFirstFaultIsThrownWithTheFile) {
  try {
    (void)testing::system_of("<system><cpu numaid='0'>\n<pci/></cpu></system>");
    FAIL() << "the file was taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "test.xml:2: <pci> has no busid");
  }
}

TEST(ReadSystem, BusIdsHaveOneForm) {
  EXPECT_EQ(canonical_bus_id("1A:0.0"), "0000:1a:00.0");
  EXPECT_EQ(canonical_bus_id("00000000:1a:00.0"), "0000:1a:00.0");
  EXPECT_EQ(canonical_bus_id("10000:e1:00.1"), "10000:e1:00.1");
  EXPECT_EQ(canonical_bus_id(""), "");
  EXPECT_EQ(canonical_bus_id("pci0000:00"), "");
}

TEST(ReadSystem, MissingRanksFollowTheDevices) {
  const System system = testing::system_of(
      "<system><cpu numaid='0'><pci busid='1:0.0'><gpu dev='5'/></pci>"
      "<pci busid='2:0.0'><gpu dev='3'/></pci></cpu></system>");
  EXPECT_EQ(system.rank_of(system.gpus()[0]), 1);
  EXPECT_EQ(system.rank_of(system.gpus()[1]), 0);
}

}  // namespace
}  // namespace ripieno::topo
