// `ripieno version`: what this command and the library it found are.
#include <fmt/format.h>
#include <nccl.h>

#include <CLI/CLI.hpp>

#include "command.h"
#include "command_line.h"
#include "machine.h"

namespace ripieno::tool {

int version_command(int count, char** arguments) {
  CLI::App app("Prints the versions of the command and of the library.", "ripieno version");
  if (!parse_command_line(app, "", count, arguments)) return kExitOk;
  int code = 0;
  ncclGetVersion(&code);
  fmt::print("ripieno {}\nNCCL API {}.{}.{} ({})\nbuilt with {}\n", RIPIENO_VERSION, code / 10000,
             code / 100 % 100, code % 100, code, compiler());
  return kExitOk;
}

}  // namespace ripieno::tool
