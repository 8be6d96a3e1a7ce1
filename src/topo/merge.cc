#include "topo/merge.h"

#include <algorithm>

#include "topo/read_system.h"

namespace ripieno::topo {
namespace {

/// A tree whose nodes are numbers: elements can be added anywhere while others are looked at.
class Forest {
 public:
  explicit Forest(const Element& root) { insert(root, -1); }

  int insert(const Element& element, int parent) {
    const int node = insert_alone(element, parent);
    for (const Element& child : element.children) insert(child, node);
    return node;
  }

  /// Adds what `found` has and `node` lacks.
  void merge(const Element& found, int node) {
    for (const auto& [name, value] : found.attributes) {
      const std::string* have = elements_[at(node)].find(name);
      if (have == nullptr || have->empty()) elements_[at(node)].set(name, value);
    }
    for (const Element& child : found.children) {
      int same = find(child, node);
      if (same < 0) same = insert_alone(child, node);
      merge(child, same);
    }
  }

  [[nodiscard]] Element tree(int node = 0) const {
    Element element = elements_[at(node)];
    for (const int child : children_[at(node)]) element.children.push_back(tree(child));
    return element;
  }

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  int insert_alone(const Element& element, int parent) {
    const auto node = static_cast<int>(elements_.size());
    elements_.push_back(
        {.name = element.name, .attributes = element.attributes, .line = element.line});
    children_.emplace_back();
    if (parent >= 0) children_[at(parent)].push_back(node);
    return node;
  }

  template <typename Same>
  int first(const Same& same) const {
    for (int node = 0; node < static_cast<int>(elements_.size()); ++node) {
      if (same(elements_[at(node)])) return node;
    }
    return -1;
  }

  template <typename Same>
  int first_child(int parent, const Same& same) const {
    for (const int node : children_[at(parent)]) {
      if (same(elements_[at(node)])) return node;
    }
    return -1;
  }

  /// The node that stands for the same thing; anywhere for what has an identity of its own, among
  /// the children of `parent` for the rest.
  int find(const Element& wanted, int parent) const {
    const auto named = [&](const Element& element) { return element.name == wanted.name; };
    const auto equal = [&](const Element& element, std::string_view attribute) {
      return element.get(attribute) == wanted.get(attribute);
    };
    if (wanted.name == "cpu") {
      return first([&](const Element& element) {
        return named(element) && equal(element, "numaid") &&
               (element.get("host_hash").empty() || wanted.get("host_hash").empty() ||
                equal(element, "host_hash"));
      });
    }
    if (wanted.name == "pci") {
      const std::string bus_id = canonical_bus_id(wanted.get("busid"));
      return first([&](const Element& element) {
        return named(element) && canonical_bus_id(element.get("busid")) == bus_id;
      });
    }
    if (wanted.name == "net") {
      return first([&](const Element& element) {
        return named(element) && equal(element, "name") && equal(element, "port");
      });
    }
    if (wanted.name == "gpu") {
      return first_child(parent, [&](const Element& element) {
        return named(element) && (element.find("dev") == nullptr || equal(element, "dev"));
      });
    }
    if (wanted.name == "nvlink") {
      return first_child(parent, [&](const Element& element) {
        return named(element) && equal(element, "target") && equal(element, "tclass");
      });
    }
    if (wanted.name == "nic" && !wanted.children.empty()) {
      // A card without a PCI function is known by its network.
      const int net = find(wanted.children.front(), parent);
      if (net >= 0) return parent_of(net);
      if (elements_[at(parent)].name == "cpu") return -1;
    }
    return first_child(parent, named);
  }

  int parent_of(int node) const {
    for (int parent = 0; parent < static_cast<int>(children_.size()); ++parent) {
      const std::vector<int>& children = children_[at(parent)];
      if (std::find(children.begin(), children.end(), node) != children.end()) return parent;
    }
    return -1;
  }

  std::vector<Element> elements_;
  std::vector<std::vector<int>> children_;
};

void assign(Element& element, std::string_view bus_id,
            const std::map<std::string, int>& rank_of_bus_id) {
  if (element.name == "pci") bus_id = element.get("busid");
  std::erase_if(element.children, [&](const Element& child) {
    return child.name == "gpu" && !rank_of_bus_id.contains(canonical_bus_id(bus_id));
  });
  for (Element& child : element.children) {
    if (child.name == "gpu") {
      child.set("rank", std::to_string(rank_of_bus_id.at(canonical_bus_id(bus_id))));
    }
    assign(child, bus_id, rank_of_bus_id);
  }
}

}  // namespace

Document merge_documents(const Document& file, const Document& found) {
  Forest forest(file.root);
  forest.merge(found.root, 0);
  return {.root = forest.tree(), .source = file.source};
}

void assign_ranks(Element& root, const std::map<std::string, int>& rank_of_bus_id) {
  assign(root, {}, rank_of_bus_id);
}

}  // namespace ripieno::topo
