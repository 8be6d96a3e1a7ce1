// -J: the result as JSON, for programs. The file is opened before the measurement, so that a wrong
// path costs no time.
#pragma once

#include <span>
#include <string>

#include "base/unique_fd.h"
#include "perf/row.h"
#include "perf/settings.h"
#include "perf/table.h"

namespace ripieno::tool::perf {

/// The whole document: settings, ranks, rows, machine, versions.
[[nodiscard]] std::string json_document(const Settings& settings, std::span<const RankPlace> ranks,
                                        std::span<const Row> rows, const Totals& totals,
                                        int nccl_version);

class JsonFile {
 public:
  /// Creates the file, or opens it and keeps its content for now. Throws UsageError.
  explicit JsonFile(const std::string& path);

  /// Replaces the content. Throws UsageError when the disk is full or the like.
  void write(const std::string& document);

 private:
  std::string path_;
  UniqueFd fd_;
};

}  // namespace ripieno::tool::perf
