// What runs an operation of the host backend: built-in thresholds, and whoever overrules them.
#include "tune/choice.h"

#include <gtest/gtest.h>

#include "tune/tuner.h"

namespace ripieno::tune {
namespace {

using coll::Function;

coll::Operation all_reduce(std::size_t floats) {
  return {.function = Function::kAllReduce, .type = ncclFloat32, .count = floats};
}

Tuner tuner_with(std::string_view algorithms, std::string_view protocols) {
  return Tuner({.inputs = host_inputs(4),
                .request = Request::parse(algorithms, protocols),
                .plugins = false});
}

TEST(Choice, WithoutSayThresholdsDecide) {
  const Tuner silent = tuner_with("", "");
  EXPECT_FALSE(silent.steers());
  for (const std::size_t floats : {1U, 64U, 4096U, 1U << 20}) {
    EXPECT_EQ(choose(all_reduce(floats), 4), choose(all_reduce(floats), 4, &silent));
  }
  EXPECT_EQ(choose(all_reduce(1), 4), Algorithm::kOneShot);
  EXPECT_EQ(choose(all_reduce(1 << 20), 4), Algorithm::kDirect);
}

TEST(Choice, VariablesWin) {
  const Tuner direct = tuner_with("direct", "");
  EXPECT_EQ(choose(all_reduce(1), 4, &direct), Algorithm::kDirect);
  const Tuner one_shot = tuner_with("", "ll");
  EXPECT_EQ(choose(all_reduce(4096), 4, &one_shot), Algorithm::kOneShot);
}

TEST(Choice, WhatCannotCarryTheSizeIsNotForced) {
  const Tuner one_shot = tuner_with("oneshot", "");
  EXPECT_EQ(choose(all_reduce(1 << 20), 4, &one_shot), Algorithm::kDirect);
}

TEST(Choice, WhatCannotRunHereIsIgnored) {
  const Tuner ring = tuner_with("ring", "simple");
  EXPECT_EQ(choose(all_reduce(1 << 20), 4, &ring), Algorithm::kDirect);
}

TEST(Choice, SizesAreOfTheLargerBuffer) {
  coll::Operation operation = all_reduce(10);
  EXPECT_EQ(buffer_bytes(operation, 4), 40U);
  for (const Function function : {Function::kAllGather, Function::kReduceScatter}) {
    operation.function = function;
    EXPECT_EQ(buffer_bytes(operation, 4), 160U);
  }
}

}  // namespace
}  // namespace ripieno::tune
