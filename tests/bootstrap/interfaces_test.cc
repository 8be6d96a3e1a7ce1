// The choice of interface over lists that no single machine has.
#include "bootstrap/interfaces.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ripieno::bootstrap {
namespace {

Interface interface(const char* name, const char* address, int bits = 24) {
  return {.name = name, .address = *Address::parse(address, 0), .prefix_bits = bits};
}

std::string chosen(const std::vector<Interface>& present, std::string_view names,
                   std::optional<Family> family = std::nullopt,
                   std::optional<Address> towards = std::nullopt) {
  try {
    const Interface& one =
        choose_interface(present, {.names = names, .family = family, .towards = towards});
    return one.name + " " + one.address.to_string();
  } catch (const Error& error) {
    EXPECT_EQ(error.result(), ncclInvalidUsage);
    return error.what();
  }
}

const std::vector<Interface> kTypical{
    interface("lo", "127.0.0.1", 8),  interface("docker0", "172.17.0.1", 16),
    interface("eth0", "10.0.0.5"),    interface("eno1", "192.168.7.5"),
    interface("ib0", "10.10.0.5"),    interface("lo", "::1", 128),
    interface("eth0", "fd00::5", 64), interface("eth0", "fe80::5", 64)};

// Case 97: NCCL's syntax and default order.
TEST(ChooseInterface, DefaultOrderIsInfiniBandOthersDockerLoopback) {
  EXPECT_EQ(chosen(kTypical, ""), "ib0 10.10.0.5");
  EXPECT_EQ(chosen({kTypical[0], kTypical[1], kTypical[2]}, ""), "eth0 10.0.0.5");
  EXPECT_EQ(chosen({kTypical[0], kTypical[1]}, ""), "docker0 172.17.0.1");
  EXPECT_EQ(chosen({kTypical[0]}, ""), "lo 127.0.0.1");
}

TEST(ChooseInterface, NamesArePrefixesInOrderOfPreference) {
  EXPECT_EQ(chosen(kTypical, "eno1,eth0"), "eno1 192.168.7.5");
  EXPECT_EQ(chosen(kTypical, "eth,eno"), "eth0 10.0.0.5");
  EXPECT_EQ(chosen(kTypical, "wlan,e"), "eth0 10.0.0.5");
  EXPECT_EQ(chosen(kTypical, "docker"), "docker0 172.17.0.1");
}

TEST(ChooseInterface, EqualsAsksForExactNames) {
  EXPECT_EQ(chosen(kTypical, "=eth0"), "eth0 10.0.0.5");
  EXPECT_EQ(chosen(kTypical, "=lo,eth0"), "lo 127.0.0.1");
  EXPECT_NE(chosen(kTypical, "=eth").find("No network interface"), std::string::npos);
}

TEST(ChooseInterface, CaretExcludes) {
  const std::vector<Interface> container{kTypical[0], kTypical[1], interface("veth9", "10.1.0.1")};
  EXPECT_EQ(chosen(container, "^docker0,veth"), "lo 127.0.0.1");
  EXPECT_EQ(chosen(container, "^veth,lo"), "docker0 172.17.0.1");
  EXPECT_EQ(chosen(kTypical, "^=ib"), "ib0 10.10.0.5");
  EXPECT_EQ(chosen(kTypical, "^=ib0"), "eth0 10.0.0.5");
  EXPECT_NE(chosen(container, "^docker0,lo,veth").find("No network interface"), std::string::npos);
}

TEST(ChooseInterface, RefusalListsWhatIsThere) {
  const std::string sentence = chosen(kTypical, "wlan");
  EXPECT_NE(sentence.find("wlan"), std::string::npos);
  EXPECT_NE(sentence.find("eth0 (10.0.0.5)"), std::string::npos) << sentence;
  EXPECT_NE(chosen({}, "").find("none"), std::string::npos);
}

TEST(ChooseInterface, FamilyIsHonoured) {
  EXPECT_EQ(chosen(kTypical, "", Family::kV6), "eth0 fd00::5");
  EXPECT_EQ(chosen(kTypical, "lo", Family::kV6), "lo ::1");
  EXPECT_EQ(chosen({kTypical[6], kTypical[2]}, ""), "eth0 10.0.0.5");
  EXPECT_NE(chosen(kTypical, "ib", Family::kV6).find("AF_INET6"), std::string::npos);
}

// Case 98: an interface without an address never appears in the list; the next one is taken.
TEST(ChooseInterface, AnInterfaceWithoutAddressDoesNotStandInTheWay) {
  EXPECT_EQ(chosen({kTypical[2]}, "veth1,eth0"), "eth0 10.0.0.5");
}

// Case 103: link-local addresses are for want of better ones.
TEST(ChooseInterface, GlobalBeforeLinkLocal) {
  const std::vector<Interface> tunnel{interface("tun0", "fe80::1", 64),
                                      interface("eth0", "fd00::5", 64)};
  EXPECT_EQ(chosen(tunnel, ""), "eth0 fd00::5");
  EXPECT_EQ(chosen({tunnel[0], kTypical[0]}, ""), "tun0 fe80::1");
  EXPECT_EQ(chosen({kTypical[7], kTypical[6]}, "eth0"), "eth0 fd00::5");
}

// Case 104: an interface with several addresses.
TEST(ChooseInterface, OneAddressOfSeveralCanBeNamed) {
  const std::vector<Interface> loopback{interface("lo", "127.0.0.1", 8),
                                        interface("lo", "10.9.9.9", 32)};
  EXPECT_EQ(chosen(loopback, "lo/127.0.0.1"), "lo 127.0.0.1");
  EXPECT_EQ(chosen(loopback, "lo/10.9.9.9"), "lo 10.9.9.9");
  EXPECT_EQ(chosen(loopback, "lo"), "lo 10.9.9.9");
  EXPECT_EQ(chosen(loopback, "^lo/10.9.9.9"), "lo 127.0.0.1");
  EXPECT_NE(chosen(loopback, "lo/nonsense").find("does not end in"), std::string::npos);
}

TEST(ChooseInterface, TheSubnetOfAKnownPeerIsPreferredUnlessNamesSayOtherwise) {
  const auto towards = Address::parse("192.168.7.200", 0);
  EXPECT_EQ(chosen(kTypical, "", std::nullopt, towards), "eno1 192.168.7.5");
  EXPECT_EQ(chosen(kTypical, "eth0", std::nullopt, towards), "eth0 10.0.0.5");
  EXPECT_EQ(chosen(kTypical, "", std::nullopt, Address::parse("203.0.113.1", 0)), "ib0 10.10.0.5");
}

TEST(ListInterfaces, FindsLoopback) {
  const auto present = list_interfaces();
  EXPECT_TRUE(std::any_of(present.begin(), present.end(), [](const Interface& one) {
    return one.name == "lo" && one.address.is_loopback();
  }));
}

}  // namespace
}  // namespace ripieno::bootstrap
