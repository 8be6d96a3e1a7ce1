// The command line of `ripieno perf`.
#include "perf/settings.h"

#include <gtest/gtest.h>

#include "command.h"

namespace ripieno::tool::perf {
namespace {

Settings parse(std::vector<const char*> words) {
  words.insert(words.begin(), "perf");
  return parse_settings(static_cast<int>(words.size()), words.data()).value();
}

std::string complaint(const std::vector<const char*>& words) {
  try {
    static_cast<void>(parse(words));
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Settings, DefaultsAreThoseOfTheFieldsBenchmarks) {
  const Settings settings = parse({"all_reduce"});
  EXPECT_EQ(settings.collective->name, "all_reduce");
  EXPECT_EQ(settings.sizes(), (std::vector<std::uint64_t>{32U << 20}));
  EXPECT_EQ(settings.iterations, 20);
  EXPECT_EQ(settings.warm_ups, 1);
  EXPECT_EQ(settings.checks, 1);
  EXPECT_EQ(settings.types.front().type, ncclFloat32);
  EXPECT_EQ(settings.operators, std::vector<Operator>{Operator::kSum});
  EXPECT_EQ(settings.time_of, TimeOf::kAverage);
  EXPECT_EQ(settings.local_ranks(), 1);
}

TEST(Settings, ShortAndLongNamesMeanTheSame) {
  const Settings brief = parse(
      {"reduce", "-b", "8",  "-e",  "1K", "-f",   "2",  "-n", "5",        "-w", "2",  "-m", "3",
       "-c",     "0",  "-o", "max", "-d", "half", "-r", "1",  "-z",       "1",  "-t", "2",  "-g",
       "3",      "-a", "3",  "-p",  "1",  "-T",   "7",  "-J", "out.json", "-R", "2"});
  const Settings spelt =
      parse({"reduce", "--minbytes=8", "--maxbytes=1K", "--stepfactor=2", "--iters=5",
             "--warmup_iters=2", "--agg_iters=3", "--check=0", "--op=max", "--datatype=half",
             "--root=1", "--blocking=1", "--nthreads=2", "--ngpus=3", "--average=3",
             "--parallel_init=1", "--timeout=7", "--output_file=out.json", "--local_register=2"});
  for (const Settings& settings : {brief, spelt}) {
    EXPECT_EQ(settings.sizes(), (std::vector<std::uint64_t>{8, 16, 32, 64, 128, 256, 512, 1024}));
    EXPECT_EQ(settings.iterations, 5);
    EXPECT_EQ(settings.warm_ups, 2);
    EXPECT_EQ(settings.aggregated, 3);
    EXPECT_EQ(settings.checks, 0);
    EXPECT_EQ(settings.operators, std::vector<Operator>{Operator::kMax});
    EXPECT_EQ(settings.types.front().type, ncclFloat16);
    EXPECT_EQ(settings.root, 1);
    EXPECT_TRUE(settings.blocking);
    EXPECT_EQ(settings.local_ranks(), 6);
    EXPECT_EQ(settings.time_of, TimeOf::kMaximum);
    EXPECT_TRUE(settings.parallel_init);
    EXPECT_EQ(settings.timeout, std::chrono::seconds(7));
    EXPECT_EQ(settings.json_file, "out.json");
    EXPECT_EQ(settings.registration, Registration::kWindow);
  }
}

TEST(Settings, SizesStepByBytesOrByAFactor) {
  EXPECT_EQ(parse({"all_reduce", "-b", "1M", "-e", "3M"}).sizes(),
            (std::vector<std::uint64_t>{1U << 20, 2U << 20, 3U << 20}));
  EXPECT_EQ(parse({"all_reduce", "-b", "0", "-e", "16", "-i", "8"}).sizes(),
            (std::vector<std::uint64_t>{0, 8, 16}));
  EXPECT_EQ(parse({"all_reduce", "-b", "2", "-e", "5", "-f", "1.1"}).sizes(),
            (std::vector<std::uint64_t>{2, 3, 4, 5}));
}

TEST(Settings, AllNamesEverything) {
  const Settings settings = parse({"reduce", "-d", "all", "-o", "all", "-r", "all"});
  EXPECT_EQ(settings.types.size(), 12U);
  EXPECT_EQ(settings.operators.size(), 6U);
  EXPECT_EQ(settings.root, -1);
  EXPECT_EQ(parse({"reduce", "-r", "-1"}).root, -1);
}

TEST(Settings, WrongUseIsToldInOneSentence) {
  EXPECT_EQ(complaint({"all_reduc"}),
            "there is no collective 'all_reduc'; did you mean 'all_reduce'?");
  EXPECT_EQ(complaint({"all_reduce", "-d", "flaot"}),
            "there is no data type 'flaot'; did you mean 'float'?");
  EXPECT_EQ(complaint({"all_reduce", "-o", "summ"}),
            "there is no operator 'summ'; did you mean 'sum'?");
  EXPECT_EQ(complaint({"all_reduce", "--minbyte", "8"}),
            "there is no option --minbyte; did you mean --minbytes?");
  EXPECT_EQ(
      complaint({"all_reduce", "-b", "8Q"}),
      "--minbytes is '8Q'; give bytes as a number with an optional K, M, G or T, such as 64M");
  EXPECT_EQ(complaint({"all_reduce", "-b", "64M", "-e", "8"}),
            "--minbytes is larger than --maxbytes");
  EXPECT_EQ(complaint({"all_reduce", "-n", "0"}), "--iters must be at least 1");
  EXPECT_EQ(complaint({"all_reduce", "-z", "2"}), "--blocking is 2; use 0 or 1");
  EXPECT_EQ(
      complaint({"all_reduce", "-b", "0", "-e", "8", "-f", "2"}),
      "--stepfactor cannot grow from 0 bytes; start with a larger --minbytes or use --stepbytes");
  EXPECT_NE(complaint({}), "accepted");
  EXPECT_NE(complaint({"all_reduce", "-n", "many"}), "accepted");
  EXPECT_NE(complaint({"all_reduce", "broadcast"}), "accepted");
}

}  // namespace
}  // namespace ripieno::tool::perf
