// Fork, exec, poll the two streams.
#include "child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace ripieno::test {

Child::Child(std::vector<std::string> words, const Environment& environment) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(arguments.front(), arguments.data());
    ::_exit(99);
  }
  ::close(out[1]);
  ::close(err[1]);
  streams_[0] = out[0];
  streams_[1] = err[0];
}

Child::~Child() {
  if (!reaped_ && pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const int stream : streams_) {
    if (stream >= 0) ::close(stream);
  }
}

std::vector<pid_t> Child::children() const {
  const std::string pid = std::to_string(pid_);
  std::ifstream file("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> list;
  for (pid_t child = 0; file >> child;) list.push_back(child);
  return list;
}

void Child::send(int signal) const {
  ::kill(pid_, signal);
}

bool Child::read_some() {
  pollfd waits[2] = {{streams_[0], POLLIN, 0}, {streams_[1], POLLIN, 0}};
  if (streams_[0] < 0 && streams_[1] < 0) return false;
  ::poll(waits, 2, 100);
  for (int stream = 0; stream < 2; ++stream) {
    if (waits[stream].revents == 0) continue;
    char buffer[4096];
    const ssize_t length = ::read(streams_[stream], buffer, sizeof(buffer));
    if (length > 0) {
      texts_[stream].append(buffer, static_cast<std::size_t>(length));
    } else {
      ::close(streams_[stream]);
      streams_[stream] = -1;
    }
  }
  return true;
}

void Child::wait_for_output(const std::string& text, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (texts_[0].find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    if (!read_some()) break;
  }
  if (texts_[0].find(text) == std::string::npos) {
    ADD_FAILURE() << "'" << text << "' was not printed; got:\n" << texts_[0] << texts_[1];
  }
}

Outcome Child::finish(std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline && read_some()) {
  }
  if (std::chrono::steady_clock::now() >= deadline) {
    ADD_FAILURE() << "the command did not end; it printed:\n" << texts_[0] << texts_[1];
    ::kill(pid_, SIGKILL);
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  reaped_ = true;
  Outcome outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  outcome.out = texts_[0];
  outcome.err = texts_[1];
  return outcome;
}

Outcome run_command(std::vector<std::string> words, const Child::Environment& environment) {
  words.insert(words.begin(), RIPIENO_COMMAND);
  return Child(std::move(words), environment).finish();
}

}  // namespace ripieno::test
