// Nearest words, byte counts, line breaking.
#include "words.h"

#include <gtest/gtest.h>

#include <array>

#include "command.h"

namespace ripieno::tool {
namespace {

TEST(Words, TheNearestIsATypingErrorAway) {
  constexpr std::array<std::string_view, 3> kWords = {"perf", "run", "version"};
  EXPECT_EQ(nearest("pref", kWords), "perf");
  EXPECT_EQ(nearest("versoin", kWords), "version");
  EXPECT_EQ(nearest("elephant", kWords), "");
  EXPECT_EQ(unknown_word("subcommand", "elephant", kWords),
            "there is no subcommand 'elephant'; use one of: perf, run, version");
}

TEST(Words, BytesHaveSuffixes) {
  EXPECT_EQ(parse_bytes("8", "-b"), 8U);
  EXPECT_EQ(parse_bytes("64K", "-b"), 65536U);
  EXPECT_EQ(parse_bytes("1.5m", "-b"), 1572864U);
  EXPECT_EQ(parse_bytes("2GB", "-b"), 2147483648U);
  EXPECT_EQ(parse_bytes("2GiB", "-b"), 2147483648U);
  for (const char* wrong : {"", "K", "-1", "8X", "1e300G", "nan", "inf", "0x10", "8 K"}) {
    EXPECT_THROW(static_cast<void>(parse_bytes(wrong, "-b")), UsageError) << wrong;
  }
}

TEST(Words, BytesAreReadable) {
  EXPECT_EQ(readable_bytes(8), "8 B");
  EXPECT_EQ(readable_bytes(1536), "1.5 KiB");
  EXPECT_EQ(readable_bytes(64U << 20), "64 MiB");
}

TEST(Words, LinesBreakBetweenWords) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("longer than", 3), (std::vector<std::string>{"longer", "than"}));
}

}  // namespace
}  // namespace ripieno::tool
