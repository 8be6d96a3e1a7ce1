// What the subcommands of `ripieno` have in common: their entry points, exit codes, and the one
// exception that means "the command line is wrong".
#pragma once

#include <stdexcept>
#include <string>

namespace ripieno::tool {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,  ///< A wrong element, a failed rank, a parameter that does not pass.
  kExitBadUsage = 2,
  kExitNotExecutable = 126,  ///< `run`: as a shell answers it.
  kExitNotFound = 127,       ///< `run`: as a shell answers it.
};

/// The command line asks for something that does not exist or makes no sense; what() is one
/// sentence.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Entry points. `arguments[0]` is the name of the subcommand. They return the exit code and may
// throw UsageError or any other exception, which the caller turns into a sentence and an exit code.
int perf_command(int count, char** arguments);
int run_command(int count, char** arguments);
int env_command(int count, char** arguments);
int ps_command(int count, char** arguments);
int topo_command(int count, char** arguments);
int tune_command(int count, char** arguments);
int version_command(int count, char** arguments);

}  // namespace ripieno::tool
