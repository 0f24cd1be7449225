#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>

/// The other end of bench/peers/worker.py's conversation, for peers in C++: a line
/// "advance MINIBATCHES" or "result" comes in, a line of JSON goes out.
class Commands {
 public:
  explicit Commands(const std::string& version) {
    std::printf("{\"version\": \"%s\"}\n", version.c_str());
    std::fflush(stdout);
  }

  /// Answers the last "advance", of which `done` minibatches were begun, and every "result";
  /// returns how many the next "advance" wants.  Ends the program when there is none.
  std::uint64_t next(std::uint64_t done, std::uint64_t updates, double time) {
    if (is_measuring_) answer(done);
    std::string word;
    while (std::cin >> word && word == "result") {
      std::printf("{\"updates\": %llu, \"time\": %.17g}\n",
                  static_cast<unsigned long long>(updates), time);
      std::fflush(stdout);
    }
    std::uint64_t wanted = 0;
    if (!(std::cin >> wanted)) std::_Exit(0);
    is_measuring_ = true;
    wall_ = std::chrono::steady_clock::now();
    processor_ = std::clock();
    return wanted;
  }

 private:
  void answer(std::uint64_t done) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    std::printf("{\"count\": %llu, \"seconds\": %.9f, \"processor_seconds\": %.6f}\n",
                static_cast<unsigned long long>(done), wall.count(),
                static_cast<double>(std::clock() - processor_) / CLOCKS_PER_SEC);
    std::fflush(stdout);
  }

  bool is_measuring_ = false;
  std::chrono::steady_clock::time_point wall_;
  std::clock_t processor_ = 0;
};
