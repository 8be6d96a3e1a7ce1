// The page of `ripieno topo --html`, opened in a headless Chromium that clicks a channel. What is
// highlighted is compared with the graph itself. Skipped where there is no Chromium.
#include "topo/page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "topo/machines.h"
#include "topo/subject.h"

namespace ripieno::tool {
namespace {

namespace machines = topo::testing;

std::string find_chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (const char* folder : {"/usr/bin/", "/usr/local/bin/"}) {
      const std::string path = std::string(folder) + name;
      if (::access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return "";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("ripieno-page-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& machine) {
    const SubjectOptions options{.file = machines::machine_file(machine)};
    load_subject(options, subject_);
    search_subject(options, subject_);
    std::string page = page_html(subject_);
    std::ofstream(folder_ / "page.html") << page;
    return page;
  }

  /// The page's elements after it has run with `fragment` in its address; the page clicks on what
  /// the fragment names.
  std::string open(const std::string& chromium, const std::string& fragment) {
    const std::string command =
        "timeout 100 " + chromium +
        " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=" +
        (folder_ / "profile").string() + " --virtual-time-budget=3000 --dump-dom 'file://" +
        (folder_ / "page.html").string() + fragment + "' 2>/dev/null";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 65536> block{};
    while (const std::size_t bytes = std::fread(block.data(), 1, block.size(), pipe)) {
      text.append(block.data(), bytes);
    }
    ::pclose(pipe);
    const std::size_t script = text.find("<script>");
    const std::size_t end = text.find("</script>");
    if (script != std::string::npos && end != std::string::npos) text.erase(script, end - script);
    return text;
  }

  std::filesystem::path folder_;
  Subject subject_;
};

TEST_F(PageTest, LoadsNothingFromAnywhere) {
  const std::string page = write("dgx-h100");
  EXPECT_EQ(count(page, "src="), 0U);
  EXPECT_EQ(count(page, "href="), 0U);
  EXPECT_EQ(count(page, "@import"), 0U);
  EXPECT_EQ(count(page, "fetch("), 0U);
  EXPECT_EQ(count(page, "http"), count(page, "http://www.w3.org/2000/svg"));
  EXPECT_EQ(count(page, "/*DATA*/null"), 0U);
}

TEST_F(PageTest, AClickedRingIsHighlighted) {
  const std::string chromium = find_chromium();
  if (chromium.empty()) GTEST_SKIP() << "chromium is not installed (apt-get install chromium)";
  write("dgx1v");
  const std::string before = open(chromium, "");
  ASSERT_NE(before.find("id=\"machine\""), std::string::npos) << "chromium printed nothing";
  EXPECT_EQ(count(before, "aria-pressed=\"true\" data-graph"), 0U);
  EXPECT_EQ(count(before, "class=\"hop\""), 0U);
  EXPECT_EQ(count(before, "class=\"node gpu\""), 8U);

  // The second ring inside the host.
  const std::string after = open(chromium, "#channel=0.1");
  const graph::Channel& channel = subject_.intra->ring.channels.at(1);
  std::string walk;
  for (const int gpu : channel.gpus) {
    const int rank = subject_.system.rank_of(subject_.system.gpus()[static_cast<std::size_t>(gpu)]);
    walk += (walk.empty() ? "" : " → ") + std::to_string(rank);
  }
  EXPECT_NE(after.find("<div id=\"walk\">" + walk + "</div>"), std::string::npos) << walk;
  EXPECT_EQ(count(after, "class=\"hop\""), 8U) << "an arrow from every GPU to the next";
  EXPECT_EQ(count(after, "class=\"node gpu lit\""), 8U);
  EXPECT_EQ(count(after, "class=\"node net lit\""), 0U);
  EXPECT_EQ(count(after, "class=\"link NVL lit\""), 8U) << "the links below them, each once";
  EXPECT_EQ(count(after, "class=\"link PCI lit\""), 0U);
  EXPECT_NE(after.find("<button class=\"channel\" aria-pressed=\"true\" data-graph=\"0\" "
                       "data-channel=\"1\">"),
            std::string::npos);
}

TEST_F(PageTest, AChannelBetweenHostsShowsItsCards) {
  const std::string chromium = find_chromium();
  if (chromium.empty()) GTEST_SKIP() << "chromium is not installed (apt-get install chromium)";
  write("dgx-h100");
  // Graphs inside a host are ring, tree and NVLS; then comes the ring between hosts.
  const std::string page = open(chromium, "#channel=3.0");
  EXPECT_EQ(count(page, "class=\"hop outside\""), 2U);
  EXPECT_EQ(count(page, "class=\"node net lit\""), 2U) << "it leaves by another card";
  EXPECT_GE(count(page, "class=\"link PCI lit\""), 2U);
  EXPECT_GE(count(page, "class=\"won\""), 20U) << "the winners' curve";
  EXPECT_NE(page.find("AllReduce</button>"), std::string::npos);
}

}  // namespace
}  // namespace ripieno::tool
