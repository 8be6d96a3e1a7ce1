// Functions that the library exports but does not perform must say so: the right code, and a
// sentence that names the function and a way out.
#define RIPIENO_NEWER_API
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <string>

namespace {

using ::testing::HasSubstr;

/// Any non-NULL value: the functions under test do not look inside.
ncclComm_t some_comm() {
  static char place;
  return reinterpret_cast<ncclComm_t>(&place);
}

void expect_refusal(ncclResult_t result, const char* function) {
  EXPECT_EQ(result, ncclInvalidUsage) << function;
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(function));
}

TEST(Refusals, NameTheFunction) {
  expect_refusal(ncclPutSignal(nullptr, 0, ncclInt8, 0, nullptr, 0, 0, 0, 0, nullptr, nullptr),
                 "ncclPutSignal");
  expect_refusal(ncclSignal(0, 0, 0, 0, nullptr, nullptr), "ncclSignal");
  expect_refusal(ncclWaitSignal(0, nullptr, nullptr, nullptr), "ncclWaitSignal");
  expect_refusal(ncclCommSuspend(nullptr, NCCL_SUSPEND_MEM), "ncclCommSuspend");
}

TEST(Registration, WantsACommunicator) {
  char buffer[64];
  void* handle = buffer;
  auto window = reinterpret_cast<ncclWindow_t>(buffer);
  EXPECT_EQ(ncclCommRegister(some_comm(), buffer, 64, &handle), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not a live communicator"));
  EXPECT_EQ(ncclCommDeregister(some_comm(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowRegister(some_comm(), buffer, 64, &window, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommWindowDeregister(some_comm(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRegister(nullptr, buffer, 64, &handle), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("comm is NULL"));
  EXPECT_EQ(ncclCommRegister(some_comm(), buffer, 64, nullptr), ncclInvalidArgument);
}

}  // namespace
