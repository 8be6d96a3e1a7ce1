#include "topo/document.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <pugixml.hpp>

#include "base/error.h"
#include "base/log.h"

namespace ripieno::topo {
namespace {

// Deeper than any machine, far shallower than the stack.
constexpr int kDeepest = 128;
constexpr std::size_t kLargestFile = std::size_t{256} << 20;

/// Turns offsets into line numbers; offsets must not decrease from call to call by much, since each
/// step walks the text between them.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}
  int at(std::ptrdiff_t offset) {
    const auto end =
        std::min(text_.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    if (end < position_) {
      position_ = 0;
      line_ = 1;
    }
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(position_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    position_ = end;
    return line_;
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
};

Element convert(const pugi::xml_node& node, LineCounter& lines, const std::string& source,
                int depth) {
  Element element{.name = node.name(), .line = lines.at(node.offset_debug())};
  if (depth > kDeepest) {
    throw Error(ncclInvalidUsage, "{}:{}: elements are nested more than {} deep", source,
                element.line, kDeepest);
  }
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    if (element.find(attribute.name()) != nullptr) {
      throw Error(ncclInvalidUsage, "{}:{}: <{}> has two attributes '{}'", source, element.line,
                  element.name, attribute.name());
    }
    element.attributes.emplace_back(attribute.name(), attribute.value());
  }
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_element) {
      element.children.push_back(convert(child, lines, source, depth + 1));
    }
  }
  return element;
}

void write_value(std::string& text, std::string_view value) {
  for (const char letter : value) {
    switch (letter) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        // Line ends and tabs would come back as blanks; other control characters are not XML but
        // parsers take the reference.
        if (static_cast<unsigned char>(letter) < 0x20) {
          text += fmt::format("&#{};", static_cast<int>(letter));
        } else {
          text += letter;
        }
    }
  }
}

void write_element(std::string& text, const Element& element, int depth) {
  text.append(static_cast<std::size_t>(depth) * 2, ' ');
  text += '<' + element.name;
  for (const auto& [name, value] : element.attributes) {
    text += ' ' + name + "=\"";
    write_value(text, value);
    text += '"';
  }
  if (element.children.empty()) {
    text += "/>\n";
    return;
  }
  text += ">\n";
  for (const Element& child : element.children) write_element(text, child, depth + 1);
  text.append(static_cast<std::size_t>(depth) * 2, ' ');
  text += "</" + element.name + ">\n";
}

}  // namespace

const std::string* Element::find(std::string_view attribute) const noexcept {
  for (const auto& [key, value] : attributes) {
    if (key == attribute) return &value;
  }
  return nullptr;
}

std::string_view Element::get(std::string_view attribute,
                              std::string_view fallback) const noexcept {
  const std::string* value = find(attribute);
  return value != nullptr ? std::string_view(*value) : fallback;
}

void Element::set(std::string_view attribute, std::string value) {
  for (auto& [key, old] : attributes) {
    if (key == attribute) {
      old = std::move(value);
      return;
    }
  }
  attributes.emplace_back(attribute, std::move(value));
}

Element& Element::add(std::string_view child_name) {
  children.push_back(Element{.name = std::string(child_name)});
  return children.back();
}

Document parse_document(std::string_view text, std::string source) {
  LineCounter lines(text);
  pugi::xml_document xml;
  const pugi::xml_parse_result result =
      xml.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result.status == pugi::status_no_document_element) {
    throw Error(ncclInvalidUsage, "{}:1: there is no element in the file", source);
  }
  if (!result) {
    throw Error(ncclInvalidUsage, "{}:{}: not well-formed XML: {}", source, lines.at(result.offset),
                result.description());
  }
  Document document{.source = std::move(source)};
  bool found = false;
  for (const pugi::xml_node& node : xml.children()) {
    if (node.type() != pugi::node_element) continue;
    if (found) {
      throw Error(ncclInvalidUsage, "{}:{}: a second root element <{}>", document.source,
                  lines.at(node.offset_debug()), node.name());
    }
    found = true;
    document.root = convert(node, lines, document.source, 0);
  }
  return document;
}

Document load_document(const std::string& file_name) {
  struct stat status {};
  if (::stat(file_name.c_str(), &status) != 0) {
    throw Error::system(fmt::format("cannot read '{}'", file_name), errno);
  }
  if (S_ISDIR(status.st_mode)) {
    throw Error(ncclSystemError, "cannot read '{}': it is a folder", file_name);
  }
  std::ifstream file(file_name, std::ios::binary);
  if (!file) throw Error::system(fmt::format("cannot read '{}'", file_name), errno);
  std::string text;
  char block[1 << 16];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargestFile) {
      throw Error(ncclInvalidUsage, "'{}' is larger than {} MiB: not a topology", file_name,
                  kLargestFile >> 20);
    }
  }
  return parse_document(text, file_name);
}

std::string write_document(const Element& root) {
  std::string text;
  write_element(text, root, 0);
  return text;
}

void save_document(const Element& root, const std::string& file_name) {
  const std::string text = write_document(root);
  const std::string draft = fmt::format("{}.{}.part", file_name, ::getpid());
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) throw Error::system(fmt::format("cannot write '{}'", draft), errno);
  }
  if (std::rename(draft.c_str(), file_name.c_str()) != 0) {
    const int reason = errno;
    ::unlink(draft.c_str());
    throw Error::system(fmt::format("cannot write '{}'", file_name), reason);
  }
}

void dump_document(const Element& root, const std::string& file_name, std::string_view variable) {
  try {
    save_document(root, file_name);
    log_info(log_subsystem::kGraph, "{} written to {}", root.name, file_name);
  } catch (const Error& error) {
    log_warn(log_subsystem::kGraph, "{}='{}' cannot be written: {}", variable, file_name,
             error.what());
  }
}

}  // namespace ripieno::topo
