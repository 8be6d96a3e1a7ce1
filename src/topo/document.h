// Topology and graph files as a tree of elements: what the XML says, before anybody asks what it
// means. Every element remembers its line, so that whoever finds a fault can point at it. There is
// no limit on the number of nodes, children or the length of a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ripieno::topo {

struct Element {
  std::string name{};
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< In the order of the file.
  std::vector<Element> children{};
  int line = 0;  ///< 0: not from a file.

  /// The value of an attribute; null where there is none.
  [[nodiscard]] const std::string* find(std::string_view attribute) const noexcept;
  /// The same, with a default.
  [[nodiscard]] std::string_view get(std::string_view attribute,
                                     std::string_view fallback = {}) const noexcept;
  /// Changes or appends an attribute.
  void set(std::string_view attribute, std::string value);
  Element& add(std::string_view child_name);
};

/// A tree and where it came from, for messages.
struct Document {
  Element root{};
  std::string source{};  ///< File name, or a word such as "detected".
};

/// Parses XML text. `source` names it in messages, which read "source:line: reason". Throws Error
/// (ncclInvalidUsage): not well-formed, no element, more than one root, nested too deeply.
[[nodiscard]] Document parse_document(std::string_view text, std::string source);
/// Reads and parses a file. Throws Error: ncclSystemError if it cannot be read, else as above.
[[nodiscard]] Document load_document(const std::string& file_name);

/// XML text that parse_document() reads back into an equal tree.
[[nodiscard]] std::string write_document(const Element& root);
/// Writes a file, whole or not at all. Throws Error.
void save_document(const Element& root, const std::string& file_name);
/// The same because `variable` says so: logged, and only warned about where it fails.
void dump_document(const Element& root, const std::string& file_name, std::string_view variable);

}  // namespace ripieno::topo
