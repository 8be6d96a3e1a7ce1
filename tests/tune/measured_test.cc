// Tables of measured times: read, refused with a reason, interpolated, and obeyed.
#include "tune/measured.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/error.h"
#include "base/parameters.h"
#include "tune/tuner.h"

namespace ripieno::tune {
namespace {

using coll::Function;

std::string file_with(const std::string& series) {
  return R"({"format": "ripieno-tuning", "version": 1, "machine": {}, "series": [)" + series + "]}";
}

constexpr const char* kOneShot =
    R"({"function": "AllReduce", "ranks": 4, "algorithm": "OneShot", "protocol": "LL",
        "points": [[64, 1.0], [1024, 4.0], [4096, 64.0]]})";
constexpr const char* kDirect =
    R"({"function": "allreduce", "ranks": 4, "algorithm": "direct", "protocol": "simple",
        "points": [[64, 3.0], [1024, 3.0], [4096, 5.0]]})";

TEST(Measured, PointsAreJoinedByLinesOnLogarithmicScales) {
  const MeasuredTable table = MeasuredTable::parse(file_with(kOneShot), "t.json");
  const auto time = [&](std::uint64_t bytes, int ranks = 4) {
    return table.time_us(Function::kAllReduce, ranks, Algorithm::kOneShot, Protocol::kLl, bytes);
  };
  EXPECT_DOUBLE_EQ(*time(64), 1.0);
  EXPECT_DOUBLE_EQ(*time(8), 1.0);
  EXPECT_NEAR(*time(256), 2.0, 1e-12);
  EXPECT_NEAR(*time(2048), 16.0, 1e-12);
  EXPECT_NEAR(*time(8192), 128.0, 1e-12) << "beyond the last point in proportion";
  EXPECT_FALSE(time(64, 2));
  EXPECT_FALSE(table.time_us(Function::kAllGather, 4, Algorithm::kOneShot, Protocol::kLl, 64));
}

TEST(Measured, WhatWasMeasuredDecides) {
  const auto table = std::make_shared<const MeasuredTable>(
      MeasuredTable::parse(file_with(std::string(kOneShot) + "," + kDirect), "t.json"));
  const Tuner tuner({.inputs = host_inputs(4), .measured = table, .plugins = false});
  EXPECT_TRUE(tuner.steers());
  const auto decide = [&](std::uint64_t bytes) { return tuner.decide({.bytes = bytes}); };
  EXPECT_EQ(decide(64).algorithm, Algorithm::kOneShot);
  EXPECT_DOUBLE_EQ(decide(64).us, 1.0);
  EXPECT_EQ(decide(1024).algorithm, Algorithm::kDirect);
  EXPECT_EQ(decide(4096).algorithm, Algorithm::kDirect);
}

TEST(Measured, WrittenTablesComeBackEqual) {
  const MeasuredTable table =
      MeasuredTable::parse(file_with(std::string(kOneShot) + "," + kDirect), "t.json");
  const std::string text = write_measured(table.series(), R"({"host": "here"})");
  EXPECT_NE(text.find("\"host\": \"here\""), std::string::npos);
  EXPECT_EQ(MeasuredTable::parse(text, "again").fingerprint(), table.fingerprint());
}

TEST(Measured, BadFilesAreRefusedWithAReason) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      (void)MeasuredTable::parse(text, "t.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.result(), ncclInvalidUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal("{").find("t.json: not JSON"), std::string::npos);
  EXPECT_NE(refusal("[]").find("not a tuning file"), std::string::npos);
  EXPECT_NE(refusal(R"({"format": "ripieno-tuning", "version": 2, "series": []})").find("version"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"format": "ripieno-tuning", "version": 1})").find("series"),
            std::string::npos);
  EXPECT_NE(refusal(file_with("{}")).find("series 0 has no \"function\""), std::string::npos);
  const auto damaged = [](std::string from, const std::string& to) {
    std::string text = file_with(std::string(kDirect) + "," + kOneShot);
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_NE(refusal(damaged("OneShot", "TwoShot")).find("series 1 has \"algorithm\""),
            std::string::npos);
  EXPECT_NE(refusal(damaged("\"ranks\": 4", "\"ranks\": 0")).find("no number of ranks"),
            std::string::npos);
  EXPECT_NE(refusal(damaged("[1024, 3.0]", "[1, 3.0]")).find("do not increase"), std::string::npos);
  EXPECT_NE(refusal(damaged("[1024, 3.0]", "[1024, -3.0]")).find("a time of"), std::string::npos);
  EXPECT_NE(refusal(damaged("[1024, 3.0]", "[1024]")).find("microseconds"), std::string::npos);
  EXPECT_NE(refusal(damaged("[1024, 3.0]", "[-1, 3.0]")).find("microseconds"), std::string::npos);
}

TEST(Measured, DamagedFilesAreAnsweredOrRefused) {
  std::mt19937 random(7);
  const std::string seed = file_with(std::string(kOneShot) + "," + kDirect);
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.erase(at, random() % 20);
      }
    }
    try {
      (void)MeasuredTable::parse(text, "fuzz");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("fuzz"), std::string::npos);
    }
  }
}

TEST(Measured, TheVariableNamesAFileAndABadOneIsLeftOut) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("ripieno-tuning-" + std::to_string(::getpid()) + ".json");
  std::ofstream(file) << file_with(kOneShot);
  ::setenv("RIPIENO_TUNING_FILE", file.c_str(), 1);
  reload_parameters();
  const auto table = MeasuredTable::from_parameters();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->series().size(), 1U);

  std::ofstream(file) << "{}";
  EXPECT_EQ(MeasuredTable::from_parameters(), nullptr);
  EXPECT_NE(std::string(last_error()).find("RIPIENO_TUNING_FILE"), std::string::npos);
  std::filesystem::remove(file);
  EXPECT_EQ(MeasuredTable::from_parameters(), nullptr);
  EXPECT_NE(std::string(last_error()).find("cannot open"), std::string::npos);
  ::unsetenv("RIPIENO_TUNING_FILE");
  reload_parameters();
}

}  // namespace
}  // namespace ripieno::tune
