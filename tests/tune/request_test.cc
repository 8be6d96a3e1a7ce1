// NCCL_ALGO and NCCL_PROTO in their full syntax.
#include "tune/request.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace ripieno::tune {
namespace {

using coll::Function;

bool allows(const Request& request, Function function, Algorithm algorithm,
            Protocol protocol = Protocol::kSimple) {
  return request.allows(function, algorithm, protocol);
}

TEST(Request, NothingSaidAllowsEverything) {
  const Request request = Request::parse("", "");
  EXPECT_FALSE(request.restricts());
  EXPECT_TRUE(allows(request, Function::kAllReduce, Algorithm::kOneShot, Protocol::kLl));
}

TEST(Request, AListIsForAllFunctions) {
  const Request request = Request::parse("ring,TREE", "simple");
  for (const Function function : kCollectives) {
    EXPECT_TRUE(allows(request, function, Algorithm::kRing));
    EXPECT_TRUE(allows(request, function, Algorithm::kTree));
    EXPECT_FALSE(allows(request, function, Algorithm::kNvls));
    EXPECT_FALSE(allows(request, function, Algorithm::kRing, Protocol::kLl));
  }
}

TEST(Request, ACaretMeansAllButThese) {
  const Request request = Request::parse("^nvls,nvlstree", "^ll128");
  EXPECT_FALSE(allows(request, Function::kAllReduce, Algorithm::kNvls));
  EXPECT_TRUE(allows(request, Function::kAllReduce, Algorithm::kDirect));
  EXPECT_FALSE(allows(request, Function::kAllReduce, Algorithm::kRing, Protocol::kLl128));
  EXPECT_TRUE(allows(request, Function::kAllReduce, Algorithm::kRing, Protocol::kLl));
}

TEST(Request, AFunctionMayHaveItsOwnList) {
  for (const char* text : {"ring;allreduce:tree,collnetdirect;broadcast:^ring",
                           "allreduce:tree,collnetdirect ; broadcast:^ring ; ring"}) {
    const Request request = Request::parse(text, "");
    EXPECT_TRUE(allows(request, Function::kAllReduce, Algorithm::kTree));
    EXPECT_FALSE(allows(request, Function::kAllReduce, Algorithm::kRing));
    EXPECT_FALSE(allows(request, Function::kBroadcast, Algorithm::kRing));
    EXPECT_TRUE(allows(request, Function::kBroadcast, Algorithm::kDirect));
    EXPECT_TRUE(allows(request, Function::kReduce, Algorithm::kRing));
    EXPECT_FALSE(allows(request, Function::kReduce, Algorithm::kTree));
  }
  const Request one = Request::parse("allreduce:tree", "");
  EXPECT_FALSE(one.restricts(Function::kBroadcast));
  EXPECT_TRUE(one.restricts(Function::kAllReduce));
}

std::string refusal(const char* algorithms, const char* protocols) {
  try {
    (void)Request::parse(algorithms, protocols);
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclInvalidUsage);
    return error.what();
  }
  return "";
}

TEST(Request, WhatDoesNotExistIsNamedWithWhatDoes) {
  EXPECT_NE(refusal("ring,tre", "").find("'tre' is not an algorithm; there are Tree, Ring"),
            std::string::npos);
  EXPECT_NE(refusal("", "LL129").find("NCCL_PROTO='LL129'"), std::string::npos);
  EXPECT_NE(refusal("allreduc:ring", "").find("'allreduc' is not a function"), std::string::npos);
  EXPECT_NE(refusal("ring,,tree", "").find("'' is not an algorithm"), std::string::npos);
  EXPECT_NE(refusal("", "^LL,LL128,Simple").find("excludes everything"), std::string::npos);
  EXPECT_NE(refusal("^", ""), "");
  EXPECT_NE(refusal("allreduce:", ""), "");
}

TEST(Request, FingerprintsTellRequestsApart) {
  EXPECT_EQ(Request::parse("ring", "").fingerprint(), Request::parse("RING", "").fingerprint());
  EXPECT_NE(Request::parse("ring", "").fingerprint(), Request::parse("tree", "").fingerprint());
  EXPECT_NE(Request::parse("", "ll").fingerprint(), Request().fingerprint());
}

}  // namespace
}  // namespace ripieno::tune
