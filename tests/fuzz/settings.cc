// Configuration files and the values of parameters, the log's own small languages.
#include "base/log.h"
#include "base/parameters.h"
#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ripieno;
  fuzz::Input input(data, size);
  const std::uint8_t what = input.byte();
  if (what % 2 == 0) {
    std::vector<std::string> warnings;
    const auto settings = parse_configuration(input.text(), "fuzz.conf", warnings);
    const ParameterSnapshot snapshot(settings, std::move(warnings));
    for (std::size_t row = 0; row < parameter_rows().size(); ++row) {
      const ParameterRow& parameter = parameter_rows()[row];
      const std::int64_t number = snapshot.at(row).number;
      const bool is_number = parameter.kind != ParameterKind::kText &&
                             parameter.kind != ParameterKind::kChoice && number != kUnset;
      fuzz::demand(!is_number || (number >= parameter.minimum && number <= parameter.maximum));
    }
    return 0;
  }
  std::string unknown;
  (void)parse_log_subsystems(input.text(), unknown);
  (void)expand_log_file_name(input.text(), "host", 1);
  (void)format_time_stamp(input.text().substr(0, 200), timespec{.tv_sec = 1, .tv_nsec = 2});
  (void)nearest_parameter(input.text().substr(0, 64));
  return 0;
}
