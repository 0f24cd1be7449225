#include "distributions/fit/readers/column_words.h"

#include <algorithm>
#include <cctype>

namespace gradrace {

namespace {

constexpr std::string_view time_words[] = {
    "time",         "times",        "duration", "durations", "elapsed",
    "latency",      "runtime",      "walltime", "ms",        "msec",
    "us",           "usec",         "ns",       "nsec",      "s",
    "sec",          "secs",         "second",   "seconds",   "millisecond",
    "milliseconds", "microseconds", "dauer",    "zeit"};
constexpr std::string_view begin_words[] = {"start", "begin", "started", "submit"};
constexpr std::string_view end_words[] = {"end", "stop", "finish", "ended", "finished"};
constexpr std::string_view stamp_words[] = {"timestamp", "ts", "date", "datetime", "stamp"};
constexpr std::string_view rate_words[] = {"throughput", "speed",  "fps",  "ips", "tps",
                                           "flops",      "tflops", "rate", "ups", "wps"};

// That are counted in a second where one follows ("img_sec", "samples_s").
constexpr std::string_view item_words[] = {"imgs",  "images", "samples", "tokens",    "toks",
                                           "seqs",  "frames", "records", "sequences", "examples",
                                           "items", "rows",   "img",     "image",     "sample",
                                           "token", "tok",    "example", "sequence",  "seq"};
constexpr std::string_view step_words[] = {"its",     "iterations", "iters", "steps",
                                           "batches", "updates",    "it"};
constexpr std::string_view second_words[] = {"s", "sec", "secs", "second"};
constexpr std::string_view left_words[] = {"eta", "remaining"};  // a time that is still to come

}  // namespace

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool rises =
        std::isupper(letter) != 0 && std::islower(static_cast<unsigned char>(before)) != 0;
    if (std::isalpha(letter) == 0 || rises) words.emplace_back();
    if (std::isalpha(letter) != 0) words.back() += static_cast<char>(std::tolower(letter));
    before = c;
  }
  std::erase(words, "");
  return words;
}

bool has_word(const std::vector<std::string>& words, std::span<const std::string_view> known) {
  return std::ranges::any_of(words, [&](const auto& word) {
    return std::ranges::find(known, std::string_view(word)) != known.end();
  });
}

bool is_rate(const std::string& name) {
  const auto words = words_of(name);
  if (has_word(words, rate_words)) return true;
  if (words.size() < 2 || !has_word({words.back()}, time_words)) return false;
  const std::vector counted{words[words.size() - 2]};
  if ((has_word(counted, item_words) || has_word(counted, step_words)) &&
      has_word({words.back()}, second_words))
    return true;
  const auto slash = name.find_last_of('/');
  return words[words.size() - 2] == "per" ||
         (slash != std::string::npos && words_of(name.substr(slash)) == std::vector{words.back()});
}

bool says_time(const std::string& name) {
  return has_word(words_of(name), time_words) && !is_rate(name) && name.find('%') == name.npos &&
         !has_word(words_of(name), left_words);
}

std::size_t steps_together(const std::string& name) {
  constexpr std::string_view several[] = {"steps", "iterations", "iters",      "batches",
                                          "its",   "updates",    "minibatches"};
  constexpr std::string_view one[] = {"step", "iteration", "iter", "batch", "it", "minibatch"};
  constexpr std::string_view of_each[] = {"per", "every", "for"};
  constexpr auto digits = "0123456789";
  for (auto at = name.find_first_of(digits); at != name.npos; at = name.find_first_of(digits, at)) {
    const auto end = std::min(name.find_first_not_of(digits, at), name.size());
    auto after = words_of(name.substr(end));
    const bool thousands = !after.empty() && after.front().starts_with('k') && name[end] == 'k';
    if (thousands && after.front().erase(0, 1).empty()) after.erase(after.begin());
    const auto before = words_of(name.substr(0, at));
    const bool is_name = at > 0 && std::isalpha(static_cast<unsigned char>(name[at - 1])) != 0;
    const bool counts =
        at == 0 || (!before.empty() && has_word({before.back()}, of_each)) || name[at - 1] == '/';
    if (end - at <= 9 && !is_name && !after.empty() &&
        (has_word({after.front()}, several) || (counts && has_word({after.front()}, one))))
      if (const std::size_t count = std::stoul(name.substr(at, end - at)) * (thousands ? 1000 : 1);
          count > 1)
        return count;
    at = end;
  }
  return 1;
}

std::string item_of(const std::string& name) {
  const auto words = words_of(name);
  const std::size_t slash = name.find_last_of('/');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_each =
        (i > 0 && words[i - 1] == "per") || (i > 1 && words[i - 2] == "per") ||
        (i + 1 == words.size() && slash != name.npos && words_of(name.substr(slash)).size() <= 2);
    std::string word = words[i];
    if (word.size() > 2 && (word.front() == 'k' || word.front() == 'm')) word.erase(0, 1);
    if (is_each && (has_word({words[i]}, item_words) || has_word({word}, item_words)))
      return words[i];
  }
  return {};
}

bool counts_items(const std::string& name) {
  return has_word(words_of(name), item_words) && !says_time(name) && !is_rate(name);
}

std::string what_else(const std::string& path) {
  constexpr std::string_view
      of_many[] = {"epoch", "epochs", "cumulative"},
      scaled[] = {"ln",      "normalized", "normalised", "relative", "ratio",  "normed",  "pct",
                  "percent", "share",      "factor",     "inverse",  "zscore", "speedup", "mfu"},
      guesses[] = {"timeout",  "budget",    "limit", "deadline", "predicted", "saved",
                   "expected", "estimated", "delta", "diff",     "target",    "left"},
      spreads[] = {"std", "stdev", "stddev", "var", "variance"},
      extremes[] = {"max", "min", "percentile", "p"},
      parts[] = {"idle",        "queue",         "queued",     "barrier",   "lock",      "sleep",
                 "gap",         "jitter",        "ping",       "rtt",       "ttft",      "kernel",
                 "bubble",      "ckpt",          "checkpoint", "save",      "init",      "compile",
                 "compilation", "startup",       "warmup",     "wait",      "waiting",   "data",
                 "load",        "loading",       "loader",     "io",        "fwd",       "forward",
                 "bwd",         "backward",      "comm",       "sync",      "allreduce", "optim",
                 "eval",        "communication", "optimizer",  "optimiser", "validation"};
  const std::string name = path.substr(path.find_last_of("./") + 1);  // npos + 1 is 0
  auto words = words_of(name);
  if (words.size() > 1 && words.back() == "min") words.pop_back();  // a unit, too
  constexpr std::string_view wholes[] = {"step", "iteration", "iter", "batch", "minibatch"};
  const bool of_whole = has_word(words, wholes);
  const bool is_copy = name.find("h2d") != name.npos || name.find("d2h") != name.npos;
  const bool is_log = name.starts_with("log_") || name.starts_with("log10");
  return is_log || has_word(words, scaled) ? "is no time as it stands, but its logarithm or ratio"
         : has_word(words, guesses)
             ? "is a limit, a forecast or a difference, and none that was taken"
         : has_word(words, spreads) ? "is a spread of times"
         : has_word(words, of_many) ? "is that of many minibatches"
         : !of_whole && (has_word(words, parts) || is_copy)
             ? "is a part of a minibatch's, or of something else"
         : has_word(words, extremes) ? "is the greatest, the least or a percentile of several"
                                     : "";
}

bool says_average(const std::string& name) {
  constexpr std::string_view words[] = {"avg",    "average", "averaged", "mean",
                                        "median", "ema",     "smoothed", "running"};
  return has_word(words_of(name), words);
}

bool are_of_summary(std::span<const std::string> names) {
  constexpr std::string_view counts[] = {"instances", "calls", "count", "counts", "occurrences"};
  constexpr std::string_view least[] = {"min", "minimum"}, greatest[] = {"max", "maximum"},
                             total[] = {"total"};
  constexpr std::string_view others[] = {"loss", "lr", "acc", "accuracy", "grad", "mem", "memory"};
  const auto any = [&](const auto& says) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      return says(name) && !has_word(words_of(name), others);
    });
  };
  const auto has = [&](std::span<const std::string_view> words) {
    return any([&](const std::string& name) { return has_word(words_of(name), words); });
  };
  return has(counts) && any(says_average) && ((has(least) && has(greatest)) || has(total));
}

bool says_hours_and_minutes(const std::string& name) {
  std::string small;
  for (const char c : name) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small.find("h:mm") != small.npos && small.find("mm:ss") == small.npos;
}

bool says_of_cluster(const std::string& name) {
  constexpr std::string_view several[] = {"workers", "ranks",    "learners", "replicas",
                                          "gpus",    "nodes",    "devices",  "processes",
                                          "procs",   "machines", "hosts",    "peers"};
  constexpr std::string_view one[] = {"worker", "rank",    "learner", "replica", "gpu",  "node",
                                      "device", "process", "proc",    "machine", "host", "world"};
  constexpr std::string_view counts[] = {"n", "num", "nr", "number", "count", "size"};
  const auto words = words_of(name);
  return has_word(words, several) || name == "nproc" ||
         (has_word(words, one) && has_word(words, counts));
}

bool says_begin(const std::string& name) { return has_word(words_of(name), begin_words); }

bool says_end(const std::string& name) { return has_word(words_of(name), end_words); }

bool says_duration(const std::string& name) {
  constexpr std::string_view words[] = {"duration", "durations", "elapsed",
                                        "latency",  "ns",        "nsec"};
  return has_word(words_of(name), words);
}

bool says_stamp(const std::string& name) { return has_word(words_of(name), stamp_words); }

}  // namespace gradrace
