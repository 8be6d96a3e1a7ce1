// The look of the table: columns, units and widths that scripts and eyes rely on.
#include "perf/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ripieno::tool::perf {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

Row typical_row() {
  Row row;
  row.bytes = 1048576;
  row.count = 262144;
  row.type = "float";
  row.op = "sum";
  row.out_of_place = {123.456, 8.4936, 12.7404, 0};
  row.in_place = {98765.4, 0.01, 0.02, std::nullopt};
  return row;
}

TEST(Table, ARowHasThirteenColumns) {
  const std::vector<std::string> columns = words(table_row(typical_row()));
  EXPECT_EQ(columns,
            (std::vector<std::string>{"1048576", "262144", "float", "sum", "-1", "123.5", "8.49",
                                      "12.74", "0", "98765", "0.01", "0.02", "N/A"}));
}

TEST(Table, LinesAreAtMost110Wide) {
  Settings settings;
  settings.collective = &find_collective("reduce_scatter");
  const RankPlace place{"host", 1234567, 7, "0000:07:00.0", "Ripieno host device"};
  std::istringstream head(table_head(settings, std::vector{place, place}, 22809));
  std::string line;
  while (std::getline(head, line)) {
    EXPECT_LE(line.size(), 110U) << line;
    EXPECT_TRUE(line.starts_with('#')) << line;
  }
  Row row = typical_row();
  row.bytes = 17179869184;
  row.count = 17179869184;
  row.type = "bfloat16";
  row.op = "mulsum";
  row.root = 1234;
  EXPECT_LE(table_row(row).size(), 110U);
}

TEST(Table, HeadingsStandOverTheirColumns) {
  Settings settings;
  settings.collective = &find_collective("all_reduce");
  const std::string head = table_head(settings, {}, 22809);
  const std::string row = table_row(typical_row());
  const std::size_t line = head.rfind("#      size");
  ASSERT_NE(line, std::string::npos);
  const std::string names = head.substr(line, head.find('\n', line) - line);
  EXPECT_EQ(names.find("size") + 4, row.find("1048576") + 7);
  EXPECT_EQ(names.find("busbw") + 5, row.find("12.74") + 5);
  EXPECT_EQ(names.rfind("#wrong") + 6, row.find("N/A") + 3);
}

TEST(Table, TheFootSumsUp) {
  Totals totals;
  totals.add(typical_row());
  EXPECT_EQ(table_foot(totals),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 6.3802\n#\n");
  Row bad = typical_row();
  bad.out_of_place.wrong = 3;
  totals.add(bad);
  EXPECT_NE(table_foot(totals).find("# Out of bounds values : 1 FAILED\n"), std::string::npos);
}

}  // namespace
}  // namespace ripieno::tool::perf
