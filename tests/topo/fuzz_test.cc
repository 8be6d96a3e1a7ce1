// Random damage to real files, always the same: every input is parsed to the end or refused with a
// sentence. Under the sanitizers this is where a parser that trusts its input falls over.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "topo/machines.h"
#include "topo/merge.h"

namespace ripieno::topo {
namespace {

void swallow(const std::string& text) {
  try {
    const Document document = parse_document(text, "fuzz");
    const Reading reading = read_system_leniently(document);
    const PathTable paths(reading.system, {});
    (void)merge_documents(document, document);
    (void)parse_document(write_document(document.root), "again");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fuzz:"), std::string::npos) << error.what();
  }
}

std::string file_text(const std::string& name) {
  std::ifstream file(testing::machine_file(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Fuzz, DamagedFilesAreAnsweredOrRefused) {
  std::mt19937 random(20240711);
  const std::vector<std::string> seeds = {file_text("2gpu-nvlink-bridge"), file_text("azure-ncv4"),
                                          file_text("gb200-tray")};
  const std::vector<std::string> words = {"<pci",
                                          "/>",
                                          "\"",
                                          "<gpu dev=\"-1\"",
                                          "&#0;",
                                          "<!--",
                                          "]]>",
                                          "99999999999999999999",
                                          "0x",
                                          "<nvlink count=\"",
                                          std::string(300, 'a'),
                                          "nan",
                                          "1e308",
                                          "\0"};
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (unsigned edits = random() % 6 + 1; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, words[random() % words.size()]);
          break;
        case 3:
          text.resize(at);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 400));
          break;
      }
    }
    swallow(text);
  }
}

TEST(Fuzz, RandomBytesAreRefused) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 200, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    swallow(text);
  }
}

}  // namespace
}  // namespace ripieno::topo
