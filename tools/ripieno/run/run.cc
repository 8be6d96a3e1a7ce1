// `ripieno run`: starts a program with this library in place of NCCL's, and with the host runtime
// in place of CUDA's where the device is the host. It execs: no process stays in between.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "layout.h"

namespace ripieno::tool {
namespace {

constexpr const char* kDescription =
    "Runs a program with this library as its libnccl.so.2 and, on the host device,\n"
    "with the host runtime as its libcudart.so.13. The program is not changed.";

constexpr const char* kFooter =
    "Sets LD_LIBRARY_PATH, and LD_PRELOAD because many programs carry a fixed path to\n"
    "their own copies. Ends as the program does; 127 if there is no such program.\n\n"
    "Examples:\n"
    "  ripieno run -- ./my_program --its-option\n"
    "  mpirun -n 4 ripieno run --device host -- ./my_program";

struct Wishes {
  std::string device;
  bool preload = true;
};

/// `first` before what the variable holds already.
void put_in_front(const char* variable, const std::string& first) {
  const char* old = std::getenv(variable);
  const std::string value = old == nullptr || *old == '\0' ? first : first + ":" + old;
  ::setenv(variable, value.c_str(), 1);
}

void set_environment(const Wishes& wishes) {
  const Layout layout = find_layout();
  const char* inherited = std::getenv("RIPIENO_DEVICE");
  const std::string device = !wishes.device.empty() ? wishes.device
                             : inherited == nullptr ? "auto"
                                                    : inherited;
  std::string folders = layout.libraries.string();
  std::string preloads = (layout.libraries / "libnccl.so.2").string();
  if (device != "cuda") {
    folders = layout.host_runtime.string() + ":" + folders;
    preloads += ":" + (layout.host_runtime / "libcudart.so.13").string();
  }
  if (!wishes.device.empty()) ::setenv("RIPIENO_DEVICE", wishes.device.c_str(), 1);
  put_in_front("LD_LIBRARY_PATH", folders);
  if (wishes.preload) put_in_front("LD_PRELOAD", preloads);
}

/// Everything up to the program belongs to us, all after it to the program.
int first_of_program(int count, char** arguments) {
  for (int index = 1; index < count; ++index) {
    const std::string_view word = arguments[index];
    if (word == "--") return index + 1;
    if (!word.starts_with('-')) return index;
    if (word == "--device") ++index;
  }
  return count;
}

}  // namespace

int run_command(int count, char** arguments) {
  Wishes wishes;
  bool no_preload = false;
  CLI::App app(kDescription, "ripieno run");
  app.add_option("--device", wishes.device, "Set RIPIENO_DEVICE: auto, host or cuda")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "host", "cuda"}));
  app.add_flag("--no-preload", no_preload, "Leave LD_PRELOAD alone");
  app.footer(kFooter);
  const int program = std::min(first_of_program(count, arguments), count);
  const bool separated = program > 1 && std::string_view(arguments[program - 1]) == "--";
  if (!parse_command_line(app, "[OPTIONS] -- PROGRAM [ARGUMENTS...]",
                          separated ? program - 1 : program, arguments))
    return kExitOk;
  if (program >= count) throw UsageError("there is no program to run; write it after --");
  wishes.preload = !no_preload;
  set_environment(wishes);
  std::vector<char*> words(arguments + program, arguments + count);
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  const int fault = errno;
  fmt::print(stderr, "ripieno run: cannot start '{}': {}\n", words.front(), std::strerror(fault));
  return fault == ENOENT || fault == ENOTDIR ? kExitNotFound : kExitNotExecutable;
}

}  // namespace ripieno::tool
