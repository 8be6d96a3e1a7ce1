// Runs a fuzzer's body over the files of a folder, and over each cut short at every few bytes and
// with single bits turned.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 2;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    ++files;
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    const std::size_t stride = 1 + bytes.size() / 64;
    for (std::size_t place = 0; place < bytes.size(); place += stride) {
      LLVMFuzzerTestOneInput(bytes.data(), place);
      bytes[place] ^= static_cast<std::uint8_t>(1U << (place % 8));
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      bytes[place] ^= static_cast<std::uint8_t>(1U << (place % 8));
    }
  }
  std::printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}
