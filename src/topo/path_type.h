// How far apart two things are, in the words of NCCL's users: the kinds of links, and the types of
// paths from nearest to farthest. Values and names are NCCL's, since they stand in files, variables
// and logs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ripieno::topo {

enum class LinkKind : std::uint8_t {
  kLocal,   ///< Inside one device.
  kNvlink,  ///< GPU to GPU or to an NVSwitch.
  kC2c,     ///< Chip to chip: GPU to the CPU of its module.
  kPci,
  kSystem,  ///< Between the CPUs of a host.
  kNet,     ///< A network card to its wire.
};
[[nodiscard]] std::string_view link_name(LinkKind kind) noexcept;

enum class PathType : std::uint8_t {
  kLocal = 0,          ///< LOC: the same device.
  kNvlink = 1,         ///< NVL: NVLink, also through NVSwitches.
  kNvlinkBridge = 2,   ///< NVB: NVLink, through one other GPU.
  kC2c = 3,            ///< C2C: chip to chip.
  kPciSwitch = 4,      ///< PIX: at most one PCI switch.
  kPciSwitches = 5,    ///< PXB: several PCI switches, no CPU.
  kPciC2c = 6,         ///< P2C: chip to chip to the CPU, then PCI.
  kPxn = 7,            ///< PXN: NVLink to a GPU beside the network card.
  kHostBridge = 8,     ///< PHB: through a CPU.
  kSystem = 9,         ///< SYS: through several CPUs.
  kNetwork = 10,       ///< NET: faster over the network than inside.
  kDisconnected = 11,  ///< DIS: no way.
};
inline constexpr int kPathTypeCount = 12;

[[nodiscard]] std::string_view path_name(PathType type) noexcept;
/// "PXB" in any case, or its number as NCCL's older variables took it.
[[nodiscard]] std::optional<PathType> parse_path_type(std::string_view text) noexcept;
/// A few words for a reader who does not know the abbreviation.
[[nodiscard]] std::string_view path_words(PathType type) noexcept;

}  // namespace ripieno::topo
