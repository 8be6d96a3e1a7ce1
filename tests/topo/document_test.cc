// Reading and writing XML: round trips, and what is said about files that are none.
#include "topo/document.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "topo/machines.h"

namespace ripieno::topo {
namespace {

bool equal(const Element& one, const Element& other) {
  return one.name == other.name && one.attributes == other.attributes &&
         one.children.size() == other.children.size() &&
         std::equal(one.children.begin(), one.children.end(), other.children.begin(), equal);
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_document(text, "x.xml");
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclInvalidUsage);
    return error.what();
  }
  return "accepted";
}

TEST(Document, EveryMachineSurvivesWritingAndReading) {
  for (const std::string& name : testing::machine_names()) {
    const Document document = load_document(testing::machine_file(name));
    const Document again = parse_document(write_document(document.root), "again");
    EXPECT_TRUE(equal(document.root, again.root)) << name;
  }
}

TEST(Document, ValuesMayHoldAnyCharacterAndBeOfAnyLength) {
  Element root{.name = "system"};
  root.set("odd", "a\"b<c>&d\te\nf'");
  root.set("long", std::string(100'000, 'x'));
  const Document again = parse_document(write_document(root), "again");
  EXPECT_EQ(again.root.get("odd"), "a\"b<c>&d\te\nf'");
  EXPECT_EQ(again.root.get("long").size(), 100'000U);
}

TEST(Document, LinesAreThoseOfTheFile) {
  const Document document =
      parse_document("<system>\n  <cpu/>\n\n  <cpu\n numaid='1'/>\n</system>", "x.xml");
  ASSERT_EQ(document.root.children.size(), 2U);
  EXPECT_EQ(document.root.line, 1);
  EXPECT_EQ(document.root.children[0].line, 2);
  EXPECT_EQ(document.root.children[1].line, 4);
}

TEST(Document, WhatIsNotXmlIsRefusedWithFileAndLine) {
  EXPECT_EQ(refusal(""), "x.xml:1: there is no element in the file");
  EXPECT_EQ(refusal("  \n <!-- nothing -->"), "x.xml:1: there is no element in the file");
  EXPECT_TRUE(refusal("<system>\n<cpu numaid=\"0>\n</system>").starts_with("x.xml:"));
  EXPECT_TRUE(
      refusal("<system>\n<cpu>\n<pci busid=\"0000").starts_with("x.xml:3: not well-formed"));
  EXPECT_EQ(refusal("<system/>\n<system/>"), "x.xml:2: a second root element <system>");
  EXPECT_EQ(refusal("<system>\n<cpu a='1' a='2'/></system>"),
            "x.xml:2: <cpu> has two attributes 'a'");
}

TEST(Document, DepthIsLimitedAndBreadthIsNot) {
  std::string deep;
  for (int level = 0; level < 10'000; ++level) deep += "<pci>";
  for (int level = 0; level < 10'000; ++level) deep += "</pci>";
  EXPECT_NE(refusal(deep).find("nested more than"), std::string::npos);
  std::string broad = "<system>";
  for (int child = 0; child < 20'000; ++child) broad += "<cpu/>";
  EXPECT_EQ(parse_document(broad + "</system>", "x.xml").root.children.size(), 20'000U);
}

TEST(Document, AMissingFileIsNamed) {
  try {
    (void)load_document("/nowhere/at/all.xml");
    FAIL() << "the file was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclSystemError);
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all.xml"), std::string::npos);
  }
  EXPECT_THROW((void)load_document("/"), Error);
}

TEST(Document, SavingReplacesTheFileAndLeavesNothingElse) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ripieno-document-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "machine.xml";
  std::ofstream(file) << "old";
  Element root{.name = "system"};
  save_document(root, file);
  EXPECT_EQ(load_document(file).root.name, "system");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(save_document(root, file), Error);
}

}  // namespace
}  // namespace ripieno::topo
