// Runs the command as a user would and catches what it prints. Every wait ends: a child that hangs
// is killed and the test fails.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace ripieno::test {

struct Outcome {
  int exit_code = -1;  ///< -1: ended by `signal`.
  int signal = 0;
  std::string out;
  std::string err;
};

class Child {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Starts `words[0]` with the variables of this process and `environment`.
  explicit Child(std::vector<std::string> words, const Environment& environment = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Direct children of the process.
  [[nodiscard]] std::vector<pid_t> children() const;
  void send(int signal) const;
  /// Reads standard output until it contains `text`.
  void wait_for_output(const std::string& text, std::chrono::seconds patience);
  [[nodiscard]] Outcome finish(std::chrono::seconds patience = std::chrono::seconds(120));

 private:
  /// Reads what is there, waiting at most a moment; false when both streams have ended.
  bool read_some();

  pid_t pid_ = -1;
  int streams_[2] = {-1, -1};
  std::string texts_[2];
  bool reaped_ = false;
};

/// `ripieno` with `words`, from start to end.
[[nodiscard]] Outcome run_command(std::vector<std::string> words,
                                  const Child::Environment& environment = {});

}  // namespace ripieno::test
