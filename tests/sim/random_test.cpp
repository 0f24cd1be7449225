#include <Random123/philox.h>
#include <doctest/doctest.h>

#include <Random123/MicroURNG.hpp>
#include <set>

#include "sim/philox_blocks.h"
#include "sim/streams_of_draws.h"

namespace gradrace::random_test {

TEST_CASE("random: Philox4x32-10 gives the published known answers") {
  // Salmon et al., SC 2011; the kat_vectors file of Random123.
  const auto zeros = Philox()({{0, 0, 0, 0}}, {{0, 0}});
  CHECK(zeros[0] == 0x6627e8d5);
  CHECK(zeros[1] == 0xe169c58d);
  CHECK(zeros[2] == 0xbc57ac4c);
  CHECK(zeros[3] == 0x9b00dbd8);
  const auto pi =
      Philox()({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}});
  CHECK(pi[0] == 0xd16cfe09);
  CHECK(pi[1] == 0x94fdcceb);
  CHECK(pi[2] == 0x5001e420);
  CHECK(pi[3] == 0x24126ea1);
}

TEST_CASE("random: a name that differs in one part gives other numbers") {
  const StreamName name{5, 3, Purpose::runtime, 7, 11};
  std::set<std::uint32_t> first;
  for (StreamName other :
       {name, StreamName{6, 3, Purpose::runtime, 7, 11}, StreamName{5, 4, Purpose::runtime, 7, 11},
        StreamName{5, 3, Purpose::minibatch, 7, 11}, StreamName{5, 3, Purpose::runtime, 8, 11},
        StreamName{5, 3, Purpose::runtime, 7, 12},
        StreamName{5 + (1ull << 32), 3, Purpose::runtime, 7, 11}}) {
    first.insert(philox_block(other, 0)[0]);
  }
  CHECK(first.size() == 7);
}

TEST_CASE("random: a stream gives the words of its blocks") {
  const StreamName name{1, 2, Purpose::runtime, 3, 4};
  Stream words = stream(name);
  for (std::uint32_t block = 0; block < 3; ++block) {
    std::multiset<std::uint32_t> drawn, expected;
    for (const auto word : philox_block(name, block)) expected.insert(word);
    for (int i = 0; i < 4; ++i) drawn.insert(words());
    CHECK(drawn == expected);
  }
}

TEST_CASE("random: streams of draws side by side are the streams of those draws") {
  for (const StreamName& first : {StreamName{1, 2, Purpose::runtime, 3, 4},
                                  StreamName{~0ull, (1u << 24) - 1, Purpose::peers, ~0u, 0},
                                  StreamName{5ull << 32, 0, Purpose::outlier, 0, ~0u - 2}}) {
    for (const InstructionSet set : runnable_instruction_sets()) {
      CAPTURE(name_of(set));
      const StreamsOfDraws streams(first, philox_blocks_for(set));
      for (std::uint32_t i = 0; i < StreamsOfDraws::size; ++i) {
        StreamName name = first;
        name.draw += i;
        Stream one = stream(name), beside = streams[i];
        for (int word = 0; word < 11; ++word) REQUIRE(beside() == one());
      }
    }
  }
}

TEST_CASE("random: a stream gives the words of Random123's own engine in their order") {
  const StreamName name{7, 5, Purpose::push, 11, 13};
  r123::MicroURNG<Philox> theirs(philox_counter(name, 0), philox_key(name));
  Stream ours = stream(name);
  for (int word = 0; word < 1000; ++word) REQUIRE(ours() == theirs());
}

TEST_CASE("random: words that fill a list are those of single calls") {
  for (const std::size_t before : {0u, 1u, 4u, 7u})
    for (const std::size_t count : {0u, 1u, 3u, 31u, 32u, 33u, 100u, 1024u}) {
      Stream one = stream({3, 1, Purpose::compression, 2, 9}), all = one;
      for (std::size_t i = 0; i < before; ++i) one(), all();
      std::vector<std::uint32_t> words(count);
      all.fill(words);
      for (const std::uint32_t word : words) REQUIRE(word == one());
      CHECK(all() == one());
    }
}

TEST_CASE("random: words of blocks are the same on every instruction set") {
  const StreamName name{1ull << 40, 3, Purpose::compression, ~0u, 9};
  for (const InstructionSet set : runnable_instruction_sets()) {
    CAPTURE(name_of(set));
    for (const std::uint32_t first : {0u, ~0u - 11}) {
      std::vector<std::uint32_t> words(96);
      philox_words_for(set)(philox_counter(name, first), philox_key(name), words);
      for (std::uint32_t i = 0; i < words.size(); ++i)
        REQUIRE(words[i] == philox_block(name, first + i / 4)[3 - i % 4]);
    }
  }
}

}  // namespace gradrace::random_test
