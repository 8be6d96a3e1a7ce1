// Runs a piece of a test in a process of its own, with its own environment and standard output: for
// what is read or opened once in the life of a process.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"

namespace ripieno::testing {

using Environment = std::vector<std::pair<std::string, std::string>>;

inline std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "/ripieno-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { (void)::system(("rm -r " + path_).c_str()); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// What `body` wrote to standard output in a child with `environment`. The child reads parameters
/// and log settings anew, and no configuration file but those named.
inline std::string output_of(const Environment& environment, const std::function<void()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::setenv("HOME", "/nonexistent", 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    log_reset();
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  ::close(ends[1]);
  std::string text;
  char block[4096];
  ssize_t count = 0;
  while ((count = ::read(ends[0], block, sizeof(block))) > 0)
    text.append(block, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

}  // namespace ripieno::testing
