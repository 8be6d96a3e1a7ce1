// Machine facts from uname, /proc and sysconf.
#include "machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string_view>

namespace ripieno::tool {
namespace {

int usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

std::string processor_name(const std::string& cpuinfo) {
  for (const std::string_view key : {"model name", "Model", "cpu model", "CPU part"}) {
    const std::size_t line = cpuinfo.find(key);
    const std::size_t colon = line == std::string::npos ? line : cpuinfo.find(": ", line);
    if (colon == std::string::npos) continue;
    return cpuinfo.substr(colon + 2, cpuinfo.find('\n', colon) - colon - 2);
  }
  return "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

Machine describe_machine() {
  utsname names{};
  ::uname(&names);
  std::ifstream file("/proc/cpuinfo");
  const std::string cpuinfo{std::istreambuf_iterator<char>(file), {}};
  Machine machine;
  machine.host = names.nodename;
  machine.kernel = fmt::format("{} {}", names.sysname, names.release);
  machine.processor = processor_name(cpuinfo);
  machine.cores = usable_cores();
  machine.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return machine;
}

}  // namespace ripieno::tool
