// From texts to values: kinds, ranges, sources, names that are almost right, and the page made of
// it all.
#include "base/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "child.h"

namespace ripieno {
namespace {

using testing::content_of;
using testing::output_of;
using testing::TemporaryFolder;

ParameterSetting setting(std::string name, std::string text, std::string source = "environment") {
  return {.name = std::move(name), .text = std::move(text), .source = std::move(source)};
}

ParameterSnapshot read(std::vector<ParameterSetting> settings) {
  return ParameterSnapshot(settings);
}

const ParameterSnapshot::Value& value_in(const ParameterSnapshot& snapshot, std::string_view name) {
  return snapshot.at(find_parameter(name));
}

bool mentions(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::ranges::all_of(
      parts, [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

// Case 113: each bad text warns with name, text, source and valid range, and the default holds.
class BadText : public ::testing::TestWithParam<const char*> {};

TEST_P(BadText, WarnsAndTheDefaultHolds) {
  const auto snapshot = read({setting("NCCL_BUFFSIZE", GetParam())});
  EXPECT_EQ(value_in(snapshot, "NCCL_BUFFSIZE").number, 4 << 20);
  EXPECT_EQ(value_in(snapshot, "NCCL_BUFFSIZE").source, "");
  ASSERT_EQ(snapshot.warnings().size(), 1U);
  EXPECT_TRUE(mentions(snapshot.warnings()[0], {"NCCL_BUFFSIZE", GetParam(), "environment",
                                                "4096 to 1073741824 bytes", "default 4M"}))
      << snapshot.warnings()[0];
}

INSTANTIATE_TEST_SUITE_P(Texts, BadText,
                         ::testing::Values("abc", "1000000000000000000000000000000", "-1",
                                           "4194304x", "4 M", "", "0x", "1e6", "4.5", "K", "--5",
                                           "+-5", "08", "9223372036854775807K"));

TEST(Parameters, OutOfRangeIsClampedAndTold) {
  const auto low = read({setting("NCCL_BUFFSIZE", "5")});
  EXPECT_EQ(value_in(low, "NCCL_BUFFSIZE").number, 4096);
  ASSERT_EQ(low.warnings().size(), 1U);
  EXPECT_TRUE(mentions(low.warnings()[0], {"NCCL_BUFFSIZE=5", "out of range", "using 4096"}));
  const auto high = read({setting("NCCL_MAX_CTAS", "1000")});
  EXPECT_EQ(value_in(high, "NCCL_MAX_CTAS").number, 64);
}

TEST(Parameters, NumbersMayBeHexadecimalOctalOrSuffixed) {
  const auto number = [](const char* name, const char* text) {
    const auto snapshot = read({setting(name, text)});
    EXPECT_TRUE(snapshot.warnings().empty()) << text;
    return value_in(snapshot, name).number;
  };
  EXPECT_EQ(number("NCCL_BUFFSIZE", "0x100000"), 1 << 20);
  EXPECT_EQ(number("NCCL_BUFFSIZE", "010000"), 4096);
  EXPECT_EQ(number("NCCL_BUFFSIZE", " 8M "), 8 << 20);
  EXPECT_EQ(number("NCCL_BUFFSIZE", "64k"), 64 << 10);
  EXPECT_EQ(number("NCCL_BUFFSIZE", "1G"), 1 << 30);
  EXPECT_EQ(number("NCCL_IB_GID_INDEX", "-1"), -1);
  EXPECT_EQ(number("RIPIENO_INIT_TIMEOUT", "+5"), 5);
}

TEST(Parameters, ChoicesAndBooleansAreReadInAnyCase) {
  EXPECT_EQ(value_in(read({setting("RIPIENO_DEVICE", "Host")}), "RIPIENO_DEVICE").number, 1);
  EXPECT_EQ(value_in(read({setting("NCCL_P2P_DISABLE", "1")}), "NCCL_P2P_DISABLE").number, 1);
  EXPECT_EQ(value_in(read({setting("NCCL_P2P_DISABLE", "off")}), "NCCL_P2P_DISABLE").number, 0);
  const auto wrong = read({setting("RIPIENO_DEVICE", "gpu")});
  EXPECT_EQ(value_in(wrong, "RIPIENO_DEVICE").number, 0);
  EXPECT_TRUE(mentions(wrong.warnings().at(0), {"RIPIENO_DEVICE=gpu", "auto, host, cuda"}));
}

TEST(Parameters, WithoutDefaultAreUnset) {
  const auto snapshot = read({});
  EXPECT_EQ(value_in(snapshot, "NCCL_MIN_CTAS").number, kUnset);
  EXPECT_EQ(value_in(snapshot, "NCCL_COMM_BLOCKING").number, kUnset);
  EXPECT_EQ(value_in(snapshot, "NCCL_SOCKET_IFNAME").text, "");
  EXPECT_TRUE(snapshot.warnings().empty());
}

TEST(Parameters, EmptyTextIsTheSameAsUnset) {
  const auto snapshot = read({setting("NCCL_SOCKET_IFNAME", "")});
  EXPECT_EQ(value_in(snapshot, "NCCL_SOCKET_IFNAME").source, "");
  EXPECT_TRUE(snapshot.warnings().empty());
}

TEST(Parameters, MisspeltNamesAreToldOnceWithTheNearest) {
  const auto snapshot = read({setting("NCCL_BUFSIZE", "1"), setting("NCCL_BUFSIZE", "1", "/f:3"),
                              setting("RIPIENO_ZZZZZZZZZZZZZZZZ", "1")});
  ASSERT_EQ(snapshot.warnings().size(), 2U);
  EXPECT_TRUE(mentions(snapshot.warnings()[0],
                       {"NCCL_BUFSIZE", "environment", "did you mean NCCL_BUFFSIZE"}));
  EXPECT_FALSE(mentions(snapshot.warnings()[1], {"did you mean"}));
}

TEST(Parameters, NamesThatOthersOwnAreLeftAlone) {
  const auto snapshot = read({setting("NCCL_VERSION", "2.28"), setting("NCCL_OFI_PROTOCOL", "x"),
                              setting("NCCL_TESTS_DEVICE", "0"), setting("PATH", "/bin")});
  EXPECT_TRUE(snapshot.warnings().empty());
}

TEST(Configuration, LinesCommentsAndMistakes) {
  std::vector<std::string> warnings;
  const auto settings = parse_configuration(
      "# a comment\n\n  NCCL_DEBUG = WARN # why\nnonsense\n=5\nNCCL_ALGO=RING\r\nNCCL_NET=a=b",
      "/x.conf", warnings);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].name, "NCCL_DEBUG");
  EXPECT_EQ(settings[0].text, "WARN");
  EXPECT_EQ(settings[0].source, "/x.conf:3");
  EXPECT_EQ(settings[1].text, "RING");
  EXPECT_EQ(settings[2].text, "a=b");
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(mentions(warnings[0], {"/x.conf:4", "nonsense"}));
}

TEST(Configuration, EnvironmentWinsOverTheNamedFileWhichWinsOverHome) {
  const TemporaryFolder folder;
  const std::string named = folder.file("named.conf");
  const std::string home = folder.file(".nccl.conf");
  std::ofstream(named) << "NCCL_NET=file\nNCCL_ALGO=file\n\nNCCL_BUFFSIZE=abc\n";
  std::ofstream(home) << "NCCL_PROTO=home\nNCCL_ALGO=home\n";
  const std::string home_folder = home.substr(0, home.rfind('/'));
  (void)output_of({{"NCCL_CONF_FILE", named}, {"NCCL_ALGO", "mine"}, {"HOME", home_folder}}, [&] {
    EXPECT_EQ(value_in(parameters(), "NCCL_ALGO").text, "mine");
    EXPECT_EQ(value_in(parameters(), "NCCL_ALGO").source, "environment");
    EXPECT_EQ(value_in(parameters(), "NCCL_NET").text, "file");
    EXPECT_EQ(value_in(parameters(), "NCCL_NET").source, named + ":1");
    EXPECT_EQ(value_in(parameters(), "NCCL_PROTO").text, "") << "the home file was not read";
    EXPECT_TRUE(mentions(parameters().warnings().at(0), {"NCCL_BUFFSIZE=abc", named + ":4"}));
  });
  (void)output_of({{"HOME", home_folder}}, [&] {
    EXPECT_EQ(value_in(parameters(), "NCCL_PROTO").text, "home");
    EXPECT_EQ(value_in(parameters(), "NCCL_PROTO").source, home + ":1");
  });
  (void)output_of({{"NCCL_CONF_FILE", "/nonexistent.conf"}}, [&] {
    EXPECT_TRUE(mentions(parameters().warnings().at(0), {"NCCL_CONF_FILE", "/nonexistent.conf"}));
  });
}

TEST(Handles, ReadTheProcessesValues) {
  static constexpr IntParameter kCtas{"NCCL_MIN_CTAS"};
  static constexpr BoolParameter kBlocking{"NCCL_COMM_BLOCKING"};
  static constexpr SecondsParameter kTimeout{"RIPIENO_INIT_TIMEOUT"};
  static constexpr SizeParameter kBuffer{"NCCL_BUFFSIZE"};
  static constexpr StringParameter kNames{"NCCL_SOCKET_IFNAME"};
  enum class Device { kAuto, kHost, kCuda };
  static constexpr EnumParameter<Device> kDevice{"RIPIENO_DEVICE"};
  (void)output_of({{"NCCL_MIN_CTAS", "4"}, {"NCCL_COMM_BLOCKING", "0"}, {"RIPIENO_DEVICE", "cuda"}},
                  [] {
                    EXPECT_EQ(kCtas.value(), 4);
                    EXPECT_TRUE(kCtas.is_set());
                    EXPECT_TRUE(kBlocking.is_set());
                    EXPECT_FALSE(kBlocking.value());
                    EXPECT_EQ(kTimeout.value(), std::chrono::seconds(600));
                    EXPECT_FALSE(kTimeout.is_set());
                    EXPECT_EQ(kBuffer.value(), 4 << 20);
                    EXPECT_EQ(kNames.value(), "");
                    EXPECT_EQ(kDevice.value(), Device::kCuda);
                  });
}

TEST(Table, IsSound) {
  std::set<std::string_view> names;
  for (const ParameterRow& row : parameter_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_TRUE(row.name.starts_with("NCCL_") || row.name.starts_with("RIPIENO_")) << row.name;
    EXPECT_FALSE(row.doc.empty()) << row.name;
    EXPECT_EQ(row.kind == ParameterKind::kChoice, !row.choices.empty()) << row.name;
    if (row.fallback.empty() || row.kind == ParameterKind::kText) continue;
    EXPECT_EQ(parse_number(row, row.fallback).fault, ParsedNumber::Fault::kNone)
        << row.name << " has a default that it would not accept";
  }
}

TEST(Table, NoTextUpsetsTheParsers) {
  std::mt19937 random(3);
  const std::string letters = "0123456789xXkKmMgG+-abcde =#\n\t|.,^";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (unsigned length = random() % 24; length > 0; --length)
      text += letters[random() % letters.size()];
    for (const char* name : {"NCCL_BUFFSIZE", "NCCL_MIN_CTAS", "NCCL_DEBUG", "NCCL_P2P_DISABLE"}) {
      const ParameterRow& row = parameter_rows()[find_parameter(name)];
      const ParsedNumber parsed = parse_number(row, text);
      if (parsed.fault == ParsedNumber::Fault::kNone && row.kind == ParameterKind::kSize) {
        EXPECT_GE(parsed.number, row.minimum);
        EXPECT_LE(parsed.number, row.maximum);
      }
    }
    std::vector<std::string> warnings;
    (void)parse_configuration(text, "file", warnings);
  }
}

TEST(Documentation, IsWhatTheTableSays) {
  EXPECT_EQ(content_of(RIPIENO_SOURCE_DIR "/docs/parameters.md"), parameters_markdown())
      << "render it again: ripieno env --markdown > docs/parameters.md";
}

}  // namespace
}  // namespace ripieno
