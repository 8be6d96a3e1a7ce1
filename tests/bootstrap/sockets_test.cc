// Addresses and port ranges as texts and values.
#include "bootstrap/sockets.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

TEST(PortRange, IsReadOrRefused) {
  EXPECT_FALSE(parse_port_range(""));
  const auto range = parse_port_range("100-200");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 100);
  EXPECT_EQ(range->last, 200);
  EXPECT_EQ(parse_port_range("77")->last, 77);
  for (const char* text : {"200-100", "0-5", "1-70000", "a-b", "1-", "-5", "1-2-3", "1 - 2"}) {
    EXPECT_THROW((void)parse_port_range(text), Error) << text;
  }
}

TEST(Address, TextsComeBack) {
  for (const char* text : {"10.0.0.1", "::1", "fd00::5", "fe80::1%lo"}) {
    const auto address = Address::parse(text, 0);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->to_string(), text);
  }
  for (const char* text : {"", "10.0.0", "10.0.0.1%lo", "fe80::1%nosuchinterface", "host"}) {
    EXPECT_FALSE(Address::parse(text, 0)) << text;
  }
  EXPECT_EQ(Address::parse("::1", 80)->to_string(), "[::1]:80");
}

TEST(Address, PrefixesAreCompared) {
  const Address one = *Address::parse("10.1.2.3", 0);
  EXPECT_TRUE(one.shares_prefix(*Address::parse("10.1.2.200", 0), 24));
  EXPECT_FALSE(one.shares_prefix(*Address::parse("10.1.3.3", 0), 24));
  EXPECT_TRUE(one.shares_prefix(*Address::parse("10.1.3.3", 0), 23));
  EXPECT_TRUE(one.shares_prefix(one, 32));
  EXPECT_FALSE(one.shares_prefix(*Address::parse("::1", 0), 0));
  EXPECT_FALSE(one.shares_prefix(one, 33));
}

TEST(Listener, AddressOfAnotherHostIsNamed) {
  try {
    (void)listen_at(*Address::parse("198.51.100.7", 0), std::nullopt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclInvalidArgument);
  }
}

}  // namespace
}  // namespace ripieno::bootstrap
