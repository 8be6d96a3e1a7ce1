#include "topo/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <vector>

namespace ripieno::topo {
namespace {

int number_of(const Element& element, std::string_view attribute) {
  const std::string_view text = element.get(attribute);
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void for_each_gpu(Element& element, const std::function<void(Element&)>& visit) {
  if (element.name == "gpu") visit(element);
  for (Element& child : element.children) for_each_gpu(child, visit);
}

void drop_gpus_from(Element& element, int first) {
  std::erase_if(element.children, [&](const Element& child) {
    return child.name == "gpu" && number_of(child, "dev") >= first;
  });
  for (Element& child : element.children) drop_gpus_from(child, first);
}

}  // namespace

Document join_domain(std::span<const Document> hosts) {
  Document joined{.root = {.name = "system", .attributes = {{"version", "1"}}},
                  .source = hosts.empty() ? std::string("nothing") : hosts.front().source};
  int ranks = 0;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    Element root = hosts[host].root;
    int most = 0;
    for_each_gpu(root, [&](Element& gpu) {
      const int rank = std::max(number_of(gpu, "rank"), 0);
      most = std::max(most, rank + 1);
      gpu.set("rank", std::to_string(ranks + rank));
    });
    ranks += most;
    for (Element& child : root.children) {
      if (child.name == "cpu") child.set("host_hash", fmt::format("0x{:x}", host + 1));
      joined.root.children.push_back(std::move(child));
    }
  }
  return joined;
}

Document repeat_in_domain(const Document& host, int count) {
  return join_domain(std::vector<Document>(static_cast<std::size_t>(std::max(count, 1)), host));
}

Document keep_gpus(const Document& document, int gpus) {
  Document kept = document;
  std::vector<int> devices;
  for_each_gpu(kept.root, [&](Element& gpu) { devices.push_back(number_of(gpu, "dev")); });
  std::sort(devices.begin(), devices.end());
  if (gpus < static_cast<int>(devices.size())) {
    drop_gpus_from(kept.root, devices[static_cast<std::size_t>(std::max(gpus, 0))]);
  }
  return kept;
}

}  // namespace ripieno::topo
