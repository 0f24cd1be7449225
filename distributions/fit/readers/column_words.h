#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradrace {

/// "batch", "time", "ms" of "batchTime_ms".
std::vector<std::string> words_of(const std::string& name);

bool has_word(const std::vector<std::string>& words, std::span<const std::string_view> known);

/// Whether a column's name says that it holds times, of any kind but rates and what is
/// left.
bool says_time(const std::string& name);

/// 10 of "time_per_10_steps", 1000 of "ms/1k iterations", else 1.
std::size_t steps_together(const std::string& name);

/// "kimg" of "sec/kimg", "token" of "ms_per_token": what is counted where that is less or more than
/// minibatches; else empty.
std::string item_of(const std::string& name);

/// Of "elapsed (h:mm)", "hh:mm".
bool says_hours_and_minutes(const std::string& name);

/// How many learners there were: of "num_workers", "gpus", "world_size".
bool says_of_cluster(const std::string& name);

/// Whether it says begin or end: of "start_time", "End (ns)".
bool says_begin(const std::string& name);
bool says_end(const std::string& name);

/// Of "timestamp", "date".
bool says_stamp(const std::string& name);

/// "duration", "elapsed", "step_ns": no time of day.
bool says_duration(const std::string& name);

/// Whether names are of a summary: how many there were of each, and their average, least and
/// greatest, as of "Instances, Avg (ns), Min (ns), Max (ns)".
bool are_of_summary(std::span<const std::string> names);

/// Of "samples", "n_images": what is counted within minibatches, and no time or rate.
bool counts_items(const std::string& name);

/// What a time is by its name that is none of a minibatch: "is a spread of times" of "std_time";
/// empty: nothing is said.
std::string what_else(const std::string& name);

/// Of "avg_time", "step mean", "ema".
bool says_average(const std::string& name);

/// Of "samples/sec", "tokens_per_s", "images_sec", "throughput"; not of "sec/step".
bool is_rate(const std::string& name);

}  // namespace gradrace
