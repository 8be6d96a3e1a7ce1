// The choices of the cost model on every test machine, alone and as one of four hosts, pinned:
// whoever changes the model sees what that changes.
#include "topo/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "topo/machines.h"
#include "topo/subject.h"

namespace ripieno::tool {
namespace {

namespace machines = topo::testing;

TEST(Choices, OfEveryMachineArePinned) {
  std::vector<std::string> names = machines::machine_names();
  names.emplace_back("gb200-tray*2");
  names.emplace_back("gb200-tray*18");
  for (const std::string& name : names) {
    const std::size_t star = name.find('*');
    std::string now;
    for (const int hosts : {1, 4}) {
      SubjectOptions options{.file = machines::machine_file(name.substr(0, star)), .hosts = hosts};
      if (star != std::string::npos) options.trays = std::stoi(name.substr(star + 1));
      Subject subject;
      load_subject(options, subject);
      search_subject(options, subject);
      ASSERT_NE(subject.in_use(), nullptr) << name;
      now += choices_text(subject) + '\n';
    }
    std::string file = name;
    std::replace(file.begin(), file.end(), '*', 'x');
    EXPECT_EQ(machines::pinned(std::string(RIPIENO_TEST_PINS) + "/" + file + ".choices", now), now)
        << name;
  }
}

TEST(Choices, EverySizeOfEveryFunctionHasOneAndItIsTheFastest) {
  for (const std::string& name : machines::machine_names()) {
    const SubjectOptions options{.file = machines::machine_file(name)};
    Subject subject;
    load_subject(options, subject);
    search_subject(options, subject);
    const auto curves = curves_json(subject);
    EXPECT_FALSE(curves["functions"].empty());
    for (const auto& function : curves["functions"]) {
      for (std::size_t index = 0; index < function["sizes"].size(); ++index) {
        const std::string winner = function["chosen"][index]["cell"];
        double best = 0.0;
        double chosen = 0.0;
        for (const auto& [cell, points] : function["curves"].items()) {
          for (const auto& point : points) {
            if (point[0] != function["sizes"][index]) continue;
            best = std::max(best, point[1].get<double>());
            if (cell == winner) chosen = point[1].get<double>();
          }
        }
        EXPECT_DOUBLE_EQ(chosen, best) << name << ' ' << function["name"] << ' ' << winner;
      }
    }
  }
}

}  // namespace
}  // namespace ripieno::tool
