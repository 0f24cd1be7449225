#include "sim/reading/elsewhere.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gradrace {

std::string why_elsewhere(const std::string& name) {
  for (const auto& [scheme, tool] :
       {std::pair<std::string_view, const char*>{"http://", "curl -LO"},
        {"https://", "curl -LO"},
        {"ftp://", "curl -LO"},
        {"s3://", "aws s3 cp"},
        {"gs://", "gsutil cp"},
        {"hdfs://", "hdfs dfs -copyToLocal"},
        {"file://", ""}}) {
    if (!name.starts_with(scheme)) continue;
    if (*tool == '\0')
      return name + " is an address; write the path, " +
             name.substr(std::min(name.find('/', scheme.size()), name.size()));
    return name + " is an address, and only files of this machine are read and written; " + tool +
           " copies";
  }
  const char* home = std::getenv("HOME");
  if (name != "~" && !name.starts_with("~/")) return {};
  return "~ is the home folder to a shell alone, where no quotes and no = stand before it; write " +
         (home == nullptr ? "the whole path" : home + name.substr(1));
}

}  // namespace gradrace
