#pragma once

#include <string>
#include <string_view>

namespace gradrace {

/// Of a log whose first lines say times or rates in words ("step_time: 0.123 s", "7.85it/s"): the
/// options that read these, "--pattern 'step_time: *([0-9.]+)'".  Empty: they do not.
std::string log_options(std::string_view text);

}  // namespace gradrace
