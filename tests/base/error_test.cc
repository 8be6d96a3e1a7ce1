// Errors carry a code and a sentence; the last sentence stays valid for the thread that asked.
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <thread>

namespace ripieno {
namespace {

TEST(Error, SystemErrorsNameTheCallAndTheReason) {
  const Error error = Error::system("Could not open /nowhere", ENOENT);
  EXPECT_EQ(error.result(), ncclSystemError);
  EXPECT_STREQ(error.what(), "Could not open /nowhere: No such file or directory (errno 2)");
}

TEST(Error, SentencesWithBracesAreKeptAsTheyAre) {
  EXPECT_STREQ(Error(ncclInvalidUsage, "{}", "a {} b").what(), "a {} b");
}

TEST(LastError, IsTheLastOneOfAnyThreadAndHoldsStill) {
  set_last_error("first");
  const char* mine = last_error();
  EXPECT_STREQ(mine, "first");
  std::thread([] { set_last_error("second"); }).join();
  EXPECT_STREQ(mine, "first") << "what a thread holds does not change under it";
  EXPECT_STREQ(last_error(), "second");
}

TEST(LastError, LongSentencesAreCut) {
  set_last_error(std::string(100'000, 'x'));
  const std::size_t length = std::strlen(last_error());
  EXPECT_GT(length, 1000U);
  EXPECT_LT(length, 10'000U);
  set_last_error("");
  EXPECT_STREQ(last_error(), "");
}

TEST(LastError, ManyThreadsNeverSeeHalfASentence) {
  set_last_error("aaaaaaaa");
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b', 'c'}) {
    threads.emplace_back([letter] {
      for (int round = 0; round < 2000; ++round) {
        set_last_error(std::string(8, letter));
        const std::string seen = last_error();
        EXPECT_EQ(seen, std::string(8, seen.front()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ResultText, EveryCodeHasItsOwn) {
  std::set<std::string> texts;
  std::set<std::string> names;
  for (int code = 0; code < ncclNumResults; ++code) {
    texts.insert(result_text(static_cast<ncclResult_t>(code)));
    names.insert(result_name(static_cast<ncclResult_t>(code)));
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(ncclNumResults));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ncclNumResults));
  EXPECT_STREQ(result_text(static_cast<ncclResult_t>(ncclNumResults)), "unknown result code");
  EXPECT_STREQ(result_text(static_cast<ncclResult_t>(-1)), "unknown result code");
  EXPECT_STREQ(result_name(ncclInvalidUsage), "ncclInvalidUsage");
}

}  // namespace
}  // namespace ripieno
