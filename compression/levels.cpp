#include "compression/levels.h"

#include <limits>

namespace gradrace {

namespace {

/// max |v_i|; NaN if one is.
template <class Real>
Real largest(std::span<const Real> v) {
  std::make_signed_t<BitsOf<Real>> result = 0;
  for (const Real x : v) result = std::max(result, static_cast<decltype(result)>(magnitude(x)));
  return std::bit_cast<Real>(result);
}

template <class Real>
double scale_of(BlockCode::Scale scale, std::span<const Real> v) {
  const auto n = static_cast<double>(v.size());
  switch (scale) {
    case BlockCode::Scale::largest:
      return largest(v);
    case BlockCode::Scale::norm:
      return norm(v);
    case BlockCode::Scale::mean:
      return lane_sum(v.size(), [&](std::size_t j) { return std::abs(v[j]); }) / n;
    case BlockCode::Scale::root_mean_square:
      return norm(v) / std::sqrt(n);
    case BlockCode::Scale::one:
      break;
  }
  return 1;
}

/// At so many standard deviations, unless these are 0; NaN stays.
template <class Real>
void cut_off(std::span<Real> v, double deviations) {
  const auto n = static_cast<double>(v.size());
  const double mean = lane_sum(v.size(), [&](std::size_t j) { return v[j]; }) / n;
  const double squares = lane_sum(v.size(), [&](std::size_t j) {
    const double apart = v[j] - mean;
    return apart * apart;
  });
  const double sigma = std::sqrt(squares / n);
  if (!(sigma > 0)) return;
  const auto most = static_cast<Real>(deviations * sigma);
  for (Real& x : v) x = std::abs(x) > most ? std::copysign(most, x) : x;
}

/// Of levels after rounding.
template <class Real>
double elias_bits_of(std::span<const Real> v, const RoundToLevel<Real>& round) {
  EliasBits bits;
  std::uint32_t places = 0;  // since the last that is not 0
  for (const Real x : v) {
    const std::uint32_t level = round.level(x);
    bits.add(level, ++places);
    if (level > 0) places = 0;
  }
  return bits.shorter();
}

}  // namespace

template <class Real>
double code_parts(std::span<Real> row, const Parts& parts, const BlockCode& code, Stream& words) {
  double bits = 0;
  parts.each(row, [&](std::span<Real> v) {
    if (code.clip > 0) cut_off(v, code.clip);
    const auto scale = static_cast<Real>(scale_of<Real>(code.scale, v));
    if (code.kind == BlockCode::Kind::signs) {
      for (Real& x : v) x = std::copysign(scale, x);
    } else if (!std::isfinite(scale)) {
      std::ranges::fill(v, std::numeric_limits<Real>::quiet_NaN());
      bits += EliasBits().shorter();
    } else if (scale == 0) {
      bits += EliasBits().shorter();
    } else {
      const RoundToLevel<Real> round(scale, static_cast<Real>(code.levels));
      with_words(v, code.at_random ? &words : nullptr, [=](std::span<Real> x, const auto* drawn) {
        for (std::size_t j = 0; j < x.size(); ++j) x[j] = round(x[j], drawn[j]);
      });
      if (code.elias) bits += elias_bits_of<Real>(v, round);
    }
  });
  return code.elias ? std::ceil(bits / 8) : 0;
}

template double code_parts(std::span<float>, const Parts&, const BlockCode&, Stream&);
template double code_parts(std::span<double>, const Parts&, const BlockCode&, Stream&);

}  // namespace gradrace
