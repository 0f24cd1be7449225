#include "tests/support/every_kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "models/datasets/row_entries.h"
#include "sim/hash.h"

namespace gradrace {

namespace {

using namespace kernels;
using Numbers = std::vector<float>;

/// Numbers between -2 and 2 that no library rounds.
Numbers made_up(std::size_t count, std::uint64_t seed) {
  Numbers numbers(count);
  for (float& number : numbers) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    number = (static_cast<float>(seed >> 40) - 0x1p23f) * 0x1p-22f;
  }
  return numbers;
}

class Hashes {
 public:
  explicit Hashes(std::string kernel) : kernel_(std::move(kernel)) {}

  void add(const Numbers& numbers) {
    for (const float number : numbers) hash_.add(std::bit_cast<std::uint32_t>(number));
  }
  KernelHash of_all() const { return {kernel_, hash_.value()}; }

 private:
  std::string kernel_;
  Hash hash_;
};

/// Rows with a third of their numbers left, in each form that kernels read.
struct MadeUpRows {
  enum class Form { dense, bytes, floats };

  MadeUpRows(Form form, std::size_t n, std::size_t inputs)
      : dense((n + 1) * inputs + lane_count), reached(n), of_byte(made_up(256, 2)) {
    of_byte[0] = 0;
    const Numbers numbers = made_up(n * inputs, 1);
    std::vector<std::uint8_t> of_dense(n * inputs);
    for (std::size_t i = 0; i < n * inputs; ++i)
      if (numbers[i] <= -0.7f) of_dense[i] = static_cast<std::uint8_t>(-100 * numbers[i]);
    for (std::size_t i = 0; i < n * inputs; ++i) dense[i] = of_byte[of_dense[i]];
    const std::span<const float> floats(dense.data(), n * inputs);
    entries = form == Form::floats ? row_entries(floats, inputs, zeros_of(floats))
                                   : row_entries(of_dense, inputs, zeros_of(of_dense));
    for (std::size_t r = 0; r < n; ++r) {
      if (form == Form::bytes) of_bytes.push_back(entries.bytes.data() + entries.begin[r]);
      if (form == Form::floats) of_floats.push_back(entries.floats.data() + entries.begin[r]);
      counts.push_back(static_cast<std::uint32_t>(entries.begin[r + 1] - entries.begin[r]));
    }
    rows = {.n = n, .inputs = inputs};
    if (form == Form::dense) rows.dense = dense.data(), rows.stride = inputs;
    if (form == Form::bytes) rows.bytes = of_bytes.data(), rows.of_byte = of_byte.data();
    if (form == Form::floats) rows.floats = of_floats.data();
    rows.counts = counts.data(), rows.reached = reached.data();
    ends.resize(inputs), turned.resize(entries.begin.back() * entries_at_once);
    rows.turned = {ends.data(), turned.data()};
  }

  Numbers dense;
  RowEntries entries;
  std::vector<const FourBytes*> of_bytes;
  std::vector<const FourFloats*> of_floats;
  std::vector<std::uint32_t> counts, ends;
  std::vector<Reached> reached;
  std::vector<TurnedEntry> turned;
  Numbers of_byte;
  InputRows rows;
};

/// The same in groups, some of them all 0.
struct MadeUpGroups {
  MadeUpGroups(bool bytes, std::size_t n, std::size_t places) : counts(n), next(n) {
    const Numbers numbers = made_up(n * places, 1);
    for (std::size_t r = 0; r < n; ++r) {
      begin.push_back(of_bytes.size());
      for (std::size_t place = 0; place < places; place += lane_count) {
        if (numbers[r * places + place] < -1) continue;
        of_bytes.push_back({static_cast<std::uint32_t>(place), {}});
        of_floats.push_back({static_cast<std::uint32_t>(place), {}});
        for (std::size_t i = 0; i < lane_count; ++i) {
          const float x = std::max(0.0f, numbers[r * places + place + i]);
          of_floats.back().x[i] = x;
          of_bytes.back().x[i] = static_cast<std::uint8_t>(100 * x);
        }
        ++counts[r];
      }
    }
    for (const std::size_t first : begin) {
      byte_rows.push_back(of_bytes.data() + first);
      float_rows.push_back(of_floats.data() + first);
    }
    rows_of.resize(places / lane_count * words_of(n));
    sums.resize(n * lane_count * lane_count);
    rows = {.n = n,
            .places = places,
            .bytes = bytes ? byte_rows.data() : nullptr,
            .floats = float_rows.data(),
            .counts = counts.data(),
            .scale = 0.013f,
            .rows_of = rows_of.data(),
            .next = next.data(),
            .sums = sums.data()};
  }

  std::vector<std::size_t> begin;
  std::vector<ByteGroup> of_bytes;
  std::vector<FloatGroup> of_floats;
  std::vector<const ByteGroup*> byte_rows;
  std::vector<const FloatGroup*> float_rows;
  std::vector<std::uint32_t> counts;
  std::vector<const void*> next;
  std::vector<std::uint64_t> rows_of;
  Numbers sums;
  InputGroups rows;
};

template <class Use>
void each_rows(const Use& use) {
  using enum MadeUpRows::Form;
  for (const auto form : {dense, bytes, floats})
    for (const std::size_t n : {1u, 6u, 21u}) use(MadeUpRows(form, n, 37).rows);
}

KernelHash layers(const Kernels& kernels) {
  Hashes found("forward, backward, backward_input");
  each_rows([&](const InputRows& x) {
    for (const std::size_t columns : {16u, 48u, 112u, 208u}) {
      const std::size_t outputs = columns - 3, numbers = (x.inputs + 1) * columns;
      const Numbers w = made_up(numbers, 3), sum = made_up(numbers, 4);
      Numbers y(x.n * columns), out(numbers), dx(x.n * in_lanes(x.inputs));
      Numbers turned((x.inputs + outputs) * in_lanes(x.n));
      kernels.forward(x, w.data(), columns, y.data());
      found.add(y);
      kernels.backward(x, y.data(), columns, {{1, nullptr, nullptr, out.data()}, 0, w.data()});
      found.add(out);
      kernels.backward(x, y.data(), columns,
                       {{0.3f, sum.data(), w.data(), out.data()}, 0.1f, w.data()});
      found.add(out);
      Numbers moved = w;
      kernels.backward(x, y.data(), columns,
                       {{0.3f, nullptr, moved.data(), moved.data()}, 0.1f, moved.data()});
      found.add(moved);
      kernels.backward_input(y.data(), x.n, columns, outputs, w.data(), x.inputs, dx.data(),
                             turned.data());
      found.add(dx);
    }
  });
  return found.of_all();
}

KernelHash layers_of_few(const Kernels& kernels) {
  Hashes found("forward_few, backward_few");
  for (const bool bytes : {true, false}) {
    // W of the last fills the first cache several times.
    for (const auto& [n, places] : {std::pair{1u, 80u}, {6u, 80u}, {70u, 80u}, {6u, 1'200u}}) {
      MadeUpGroups groups(bytes, n, places);
      for (const std::size_t outputs : {1u, 2u, 10u, 16u}) {
        const std::size_t columns = columns_of_few(outputs), numbers = outputs * places + columns;
        const Numbers w = made_up(numbers, 3), sum = made_up(numbers, 4);
        Numbers y(n * columns), out(numbers), moved = w;
        kernels.forward_few(groups.rows, w.data(), outputs, y.data());
        found.add(y);
        kernels.backward_few(groups.rows, y.data(), outputs,
                             {{0.3f, sum.data(), w.data(), out.data()}, 0.1f, w.data()});
        found.add(out);
        kernels.backward_few(
            groups.rows, y.data(), outputs,
            {{0.3f, nullptr, moved.data(), moved.data()}, 0, moved.data(), sum.data()});
        found.add(moved);
      }
    }
  }
  return found.of_all();
}

KernelHash functions(const Kernels& kernels) {
  Hashes found("functions of each number");
  const Numbers x = made_up(5 * lane_count, 5);
  for (auto* const function :
       {kernels.exponentials, kernels.logarithms, kernels.tanhs, kernels.relu}) {
    Numbers y = x;
    if (function == kernels.logarithms)
      for (float& number : y) number = number * number + 1;
    function(y.data(), 5);
    found.add(y);
  }
  for (auto* const slopes : {kernels.tanh_slopes, kernels.relu_slopes}) {
    Numbers dy = made_up(x.size(), 6);
    slopes(x.data(), dy.data(), 5);
    found.add(dy);
  }
  std::vector<std::uint8_t> bytes;
  for (const float number : made_up(37, 7))
    bytes.push_back(static_cast<std::uint8_t>(100 + 40 * number));
  Numbers converted(bytes.size());
  kernels.convert(bytes.data(), bytes.size(), 1.0f / 255, converted.data());
  found.add(converted);
  return found.of_all();
}

KernelHash losses(const Kernels& kernels) {
  Hashes found("losses");
  constexpr std::size_t n = 21, outputs = 19, columns = 32, values = 7;
  std::vector<std::uint8_t> classes, two;
  for (std::size_t r = 0; r < n; ++r) {
    classes.push_back(static_cast<std::uint8_t>(5 * r % outputs));
    two.push_back(static_cast<std::uint8_t>(r % 3 % 2));
  }
  const Numbers targets = made_up(n, 8);
  const auto add = [&](LossKind loss, std::size_t of, const RowLabels& labels) {
    const Numbers s = made_up(n * in_lanes(of * values) + lane_count, 9);
    Numbers losses(n * lane_count), wrong(n * lane_count);
    kernels.losses_of_values(loss, s.data(), n, of, values, labels, losses.data(), wrong.data());
    found.add(losses), found.add(wrong);
    if (of > 1) return;
    Numbers one = made_up(in_lanes(n), 10);
    kernels.slopes_of_one(loss, one.data(), n, labels, 1.0f / static_cast<float>(n));
    one.resize(n);
    found.add(one);
  };
  add(LossKind::cross_entropy, outputs, {classes.data(), nullptr});
  add(LossKind::logistic, 1, {two.data(), nullptr});
  add(LossKind::half_square, 1, {nullptr, targets.data()});
  Numbers s = made_up(n * columns, 11), losses(in_lanes(n)), wrong(in_lanes(n));
  kernels.softmax_losses(s.data(), n, columns, outputs, classes.data(), losses.data(),
                         wrong.data());
  kernels.softmax_slopes(s.data(), n, columns, outputs, classes.data(),
                         1.0f / static_cast<float>(n));
  found.add(s), found.add(losses), found.add(wrong);
  return found.of_all();
}

KernelHash convolutions(const Kernels& kernels) {
  Hashes found("convolutions");
  for (const ConvolutionShape& shape : {ConvolutionShape{3, 9, 8, 20, 9, 8, 5, 2, 1},
                                        ConvolutionShape{4, 7, 9, 17, 4, 5, 3, 1, 2}}) {
    std::vector<Taps> rows, columns, rows_back, columns_back;
    for (std::size_t i = 0; i < shape.out_height; ++i)
      rows.push_back(taps_of_output(shape, i, shape.height));
    for (std::size_t i = 0; i < shape.out_width; ++i)
      columns.push_back(taps_of_output(shape, i, shape.width));
    for (std::size_t i = 0; i < shape.height; ++i)
      rows_back.push_back(taps_of_input(shape, i, shape.out_height));
    for (std::size_t i = 0; i < shape.width; ++i)
      columns_back.push_back(taps_of_input(shape, i, shape.out_width));
    const std::size_t most = ConvolutionKernels<float>::most_outputs;
    Numbers scratch(std::max(16 * shape.weights(),
                             most * shape.area() * std::max(shape.channels, shape.outputs)));
    const std::size_t of_z = shape.out_height * shape.out_width;
    for (const std::size_t n : {5u, 21u}) {
      const Numbers x = made_up(shape.channels * shape.height * shape.width * n, 12),
                    w = made_up(shape.weights(), 13), b = made_up(shape.outputs, 14);
      Numbers z(shape.outputs * of_z * n), dx(x.size()), dw(w.size()), sums(shape.outputs);
      kernels.convolutions.correlate(
          {x.data(), n, shape.channels, shape.height, shape.width, shape.kernel, rows, columns,
           w.data(), shape.channels * shape.area(), shape.area(), b.data(), shape.outputs},
          z.data(), scratch.data());
      kernels.convolutions.correlate({z.data(), n, shape.outputs, shape.out_height, shape.out_width,
                                      shape.kernel, rows_back, columns_back, w.data(), shape.area(),
                                      shape.channels * shape.area(), nullptr, shape.channels},
                                     dx.data(), scratch.data());
      kernels.convolutions.weight_sums(shape, n, x.data(), z.data(), dw.data(), scratch.data());
      kernels.convolutions.map_sums(z.data(), shape.outputs, of_z * n, sums.data());
      found.add(z), found.add(dx), found.add(dw), found.add(sums);
    }
  }
  return found.of_all();
}

KernelHash normalisations(const MapKernels& maps) {
  Hashes found("normalisations");
  for (const std::size_t numbers : {5u, 16u, 83u}) {
    const Numbers x = made_up(numbers, 15), dy = made_up(numbers, 16);
    Numbers y(numbers), dx(numbers);
    const Moments of_x = maps.moments(x.data(), numbers);
    const NormalisedSums of_y = maps.normalised_sums(x.data(), dy.data(), numbers, of_x.mean);
    found.add({of_x.mean, of_x.variance, of_y.dy, of_y.dy_x});
    maps.normalise(x.data(), numbers, of_x.mean, 0.7f, 0.1f, y.data());
    maps.normalise_back(x.data(), dy.data(), numbers, of_x.mean, 0.2f, 0.7f, 0.1f, dx.data());
    found.add(y), found.add(dx);
  }
  for (const std::size_t n : {5u, 21u}) {
    for (const Neighbourhood& shape : {Neighbourhood{2, 5, 7}, {1, 3, 1}, {2, 1, 4}}) {
      const std::size_t numbers = shape.channels * shape.height * shape.width * n;
      const Numbers x = made_up(numbers, 17), dy = made_up(numbers, 18);
      Numbers y(numbers), p(numbers), ratio(numbers), dx(numbers);
      maps.respond(shape, n, 0.1f, x.data(), y.data(), p.data(), ratio.data());
      maps.respond_back(shape, n, 0.2f, x.data(), dy.data(), p.data(), ratio.data(), dx.data());
      found.add(y), found.add(p), found.add(ratio), found.add(dx);
    }
  }
  return found.of_all();
}

KernelHash poolings(const MapKernels& maps) {
  Hashes found("poolings");
  for (const std::size_t n : {5u, 21u}) {
    for (const PoolingShape& shape :
         {PoolingShape{2, 8, 9, 4, 4, 3, 2}, {3, 4, 6, 2, 3, 2, 2}, {1, 7, 5, 1, 1, 7, 7}}) {
      const Numbers x = made_up(shape.channels * shape.height * shape.width * n, 19);
      const std::size_t numbers = shape.channels * shape.out_height * shape.out_width * n;
      const Numbers dy = made_up(numbers, 20);
      Numbers y(numbers), places(numbers), dx(x.size());
      maps.greatest(shape, n, x.data(), y.data(), places.data());
      maps.greatest_back(shape, n, dy.data(), places.data(), dx.data());
      found.add(y), found.add(places), found.add(dx);
      maps.mean(shape, n, x.data(), y.data());
      maps.mean_back(shape, n, dy.data(), dx.data());
      found.add(y), found.add(dx);
    }
  }
  return found.of_all();
}

}  // namespace

std::vector<KernelHash> hashes_of(const Kernels& kernels) {
  return {layers(kernels),       layers_of_few(kernels), functions(kernels),
          losses(kernels),       convolutions(kernels),  normalisations(kernels.maps),
          poolings(kernels.maps)};
}

}  // namespace gradrace
