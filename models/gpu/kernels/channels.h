#pragma once

#include "models/gpu/kernels/maps.h"
#include "models/gpu/kernels/pass.h"

/// What layers do with the maps [n, outputs, pixels] that they give channel by channel: sums over
/// the pixels of each in all rows, and numbers that a channel's numbers have in common.
namespace gradrace::kernels {

/// f<m>() with the number of neighbours of a channel that are taken at once.
template <class Function>
GRADRACE_HD void with_neighbours(const Layer& layer, const Function& f) {
  if (layer.pixels() % 4 == 0)
    f.template operator()<4>();
  else
    f.template operator()<1>();
}

/// Rows whose pixels of a channel are a part of its sums.
GRADRACE_HD inline std::uint32_t rows_of_part(const Layer& layer) {
  return (4095 + layer.pixels()) / layer.pixels();
}
GRADRACE_HD inline std::uint32_t channel_parts(const Layer& layer, std::uint32_t n) {
  return (n + rows_of_part(layer) - 1) / rows_of_part(layer);
}
/// Numbers of Real that all parts of so many sums of each channel take.
template <class Real>
std::uint64_t channel_part_numbers(const Layer& layer, std::uint32_t n, std::uint32_t sums) {
  return std::uint64_t{channel_parts(layer, n)} * layer.outputs * sums * sizeof(double) /
         sizeof(Real);
}

/// The parts of the sums of each channel, in double, as [parts, sums, outputs]: lane by lane, then
/// by halves; a block for each part of each channel of each job.
///
///     Sums::count                   how many sums of a channel there are
///     Sums::At<Real>(at, channel)   what a channel's numbers have in common
///       add<m>(number, sums)        adds the terms of m neighbours
///       store(sums)                 what is made of the sums over all rows
template <class Number, class Sums>
struct ChannelPartsKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;

  static constexpr std::uint32_t threads = 256, at_once = 1, count = Sums::count;
  static std::size_t shared_numbers() { return count * lanes * sizeof(double) / sizeof(Real); }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return channel_parts(layer, pass.n) * layer.outputs; }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const std::uint32_t of_job = number % blocks();
    const std::uint32_t channel = of_job % layer.outputs, part = of_job / layer.outputs;
    double* const sums = block.template scratch<double>();
    with_neighbours(layer, [&]<std::uint32_t together>() {
      const typename Sums::template At<Real> terms(at, channel);
      each(block, lanes,
           [&](std::uint32_t lane) { add<together>(terms, channel, part, lane, sums); });
    });
    for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
      block.sync();
      each(block, count * half, [&](std::uint32_t i) {
        double* const from = sums + i / half * lanes + i % half;
        *from += from[half];
      });
    }
    block.sync();
    each(block, count, [&](std::uint32_t s) {
      reinterpret_cast<double*>(at.parts)[(part * count + s) * layer.outputs + channel] =
          sums[s * lanes];
    });
    block.sync();
  }

 private:
  template <std::uint32_t together, class Terms>
  GRADRACE_HD void add(const Terms& terms, std::uint32_t channel, std::uint32_t part,
                       std::uint32_t lane, double* sums) const {
    const std::uint32_t width = layer.pixels() / together, first = part * rows_of_part(layer);
    const std::uint32_t end = smaller(first + rows_of_part(layer), pass.n);
    double total[count] = {};
    std::uint32_t row = first + lane / width, at = lane % width;
    const std::uint32_t down = lanes / width, across = lanes % width;
    while (row < end) {
      terms.template add<together>(((row * layer.outputs + channel) * width + at) * together,
                                   total);
      row += down, at += across;
      if (at >= width) at -= width, ++row;
    }
    for (std::uint32_t s = 0; s < count; ++s) sums[s * lanes + lane] = total[s];
  }
};

/// What is made of the sums of each channel, the parts added in their order.
template <class Sums>
struct StoreChannelSums {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t channel) const {
    const std::uint32_t parts = channel_parts(at.layer, at.n);
    const double* from = reinterpret_cast<const double*>(at.parts) + channel;
    double total[Sums::count] = {};
    for (std::uint32_t part = 0; part < parts; ++part)
      for (double& sum : total) sum += *from, from += at.layer.outputs;
    typename Sums::template At<Real>(at, channel).store(total);
  }
};

/// Each{}.operator()<m>(at, channel, number) for every m neighbours that the layer gives.
template <class Number, class Each>
struct EachOfChannelsKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return chunks(numbers()); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    const std::uint32_t first = number % blocks() * chunk_numbers;
    const std::uint32_t count = smaller(chunk_numbers, numbers() - first);
    with_neighbours(layer, [&]<std::uint32_t together>() {
      each(block, count / together, [&](std::uint32_t i) {
        const std::uint32_t own = first + i * together;
        Each{}.template operator()<together>(at, own / layer.pixels() % layer.outputs, own);
      });
    });
  }

 private:
  GRADRACE_HD std::uint32_t numbers() const { return pass.n * layer.units(); }
};

}  // namespace gradrace::kernels
