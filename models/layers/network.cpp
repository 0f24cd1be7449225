#include "models/layers/network.h"

#include <type_traits>

#include "models/layers/functions.h"
#include "models/layers/layer_table.h"
#include "sim/check.h"

namespace gradrace {

/// y = f(y).  relu(y) = max(y, 0); NaN propagates.
template <class Real>
static void activate(Activation f, Units<Real>& y) {
  if (f == Activation::identity) return;
  if (f == Activation::tanh) return tanhs({y.data(), static_cast<std::size_t>(y.size())});
  Real* const at = y.data();
  for (Eigen::Index i = 0; i < y.size(); ++i) at[i] = at[i] < 0 ? 0 : at[i];
}

/// dy = dy f'(z), from y = f(z).  relu'(0) = 0.
template <class Real>
static void times_slope(Activation f, const Units<Real>& y, Units<Real>& dy) {
  if (f == Activation::identity) return;
  if (f == Activation::tanh) {
    dy.array() *= 1 - y.array().square();
    return;
  }
  const Real* const value = y.data();
  Real* const at = dy.data();
  for (Eigen::Index i = 0; i < dy.size(); ++i) at[i] = value[i] > 0 ? at[i] : 0;
}

template <class Real>
static std::unique_ptr<CpuLayer<Real>> computed(const LayerSpec& spec) {
  if constexpr (std::is_same_v<Real, float>)
    return spec.make_float32(spec);
  else
    return spec.make_float64(spec);
}

template <class Real>
Network<Real>::Network(const NetworkSpec& spec) {
  for (const LayerSpec& layer : spec.layers()) {
    const bool shortcut = layer.kernel.kind == kernels::kind_of<kernels::ShortcutSteps>;
    if (!shortcut) maps_.emplace_back();
    const std::size_t y = maps_.size() - 1;
    const std::size_t x = shortcut         ? steps_[layer.kernel.from].y
                          : steps_.empty() ? 0
                                           : steps_.back().y;
    GRADRACE_CHECK(!shortcut || steps_.back().f == Activation::identity,
                   "a shortcut adds to a map before its activation");
    steps_.push_back({computed<Real>(layer), layer.kernel.f, shortcut, x, y});
  }
}

template <class Real>
void Network<Real>::initialise(Stream& words, Real* w) const {
  for (const Step& step : steps_) step.layer->initialise(words, w);
}

template <class Real>
Units<Real>& Network<Real>::forward(const Real* w, const RowMajor<Real>& rows, bool learning) {
  for (Step& step : steps_) {
    Units<Real>& y = maps_[step.y];
    if (&step == &steps_.front())
      step.layer->forward_rows(w, rows, y);
    else if (learning)
      step.layer->learn(w, maps_[step.x], y);
    else
      step.layer->forward(w, maps_[step.x], y);
    activate(step.f, y);
  }
  return maps_.back();
}

template <class Real>
void Network<Real>::backward(const Real* w, const RowMajor<Real>& rows, Real* g) {
  Units<Real>* dy = &maps_.back();
  const Step* shortcut = nullptr;     // whose way back waits for the derivative by the map it added
  const Units<Real>* kept = nullptr;  // the derivative by its sum
  for (std::size_t l = steps_.size(); l-- > 0;) {
    const Step& step = steps_[l];
    if (shortcut != nullptr && step.y == shortcut->x) {
      shortcut->layer->backward(w, maps_[shortcut->x], *kept, g, dy);
      shortcut = nullptr, kept = nullptr;
    }
    times_slope(step.f, maps_[step.y], *dy);
    if (l == 0) return step.layer->backward_rows(w, rows, *dy, g);
    if (step.shortcut) {
      GRADRACE_CHECK(shortcut == nullptr, "a shortcut ends before the next begins");
      shortcut = &step, kept = dy;
      continue;
    }
    Units<Real>& dx = other_than(dy, kept);
    step.layer->backward(w, maps_[step.x], *dy, g, &dx);
    dy = &dx;
  }
}

template <class Real>
Units<Real>& Network<Real>::other_than(const Units<Real>* dy, const Units<Real>* kept) {
  Units<Real>* place = derivatives_;
  while (place == dy || place == kept) ++place;
  return *place;
}

template class Network<float>;
template class Network<double>;

}  // namespace gradrace
