#include <algorithm>
#include <optional>

#include "distributions/catalog.h"
#include "distributions/laws/deterministic.h"
#include "distributions/laws/shifted.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "roofline",
    .definition =
        R"(What a device needs for the work of a minibatch, which it computes as fast as its
arithmetic or its memory allows, whichever is slower, times a random factor J of the law `jitter`:

    X = max(flop / flop_rate, bytes / bandwidth) J

Communication is not in it.  A model trains with about three times the work of its forward pass.)",
    .source = "Williams, Waterman, Patterson, Commun. ACM 52(4), 2009",
    .example = R"({"distribution": "roofline", "flop": 2e12, "flop_rate": 4e12, "bytes": 1e11,
  "bandwidth": 1e12, "jitter": {"distribution": "gamma", "mean": 1, "cv": 0.1}})",
};

DistributionProduct read(Fields& fields) {
  double flop = 1, flop_rate = 1;
  std::optional<double> bytes, bandwidth;
  DistributionProduct jitter;
  fields.real("flop", flop, Need::required, positive(), "floating-point operations of a minibatch");
  fields.real("flop_rate", flop_rate, Need::required, positive(),
              "of the device, operations per unit of time");
  fields.real("bytes", bytes, positive(),
              "that a minibatch moves between the device and its memory (default: none)");
  fields.real("bandwidth", bandwidth, positive(),
              "of that memory, bytes per unit of time; needed beside bytes");
  read_kind(fields, "jitter", distribution_catalog(), jitter, Need::none,
            "law of the factor J, drawn independently (default: J = 1)");
  if (bytes.has_value() != bandwidth.has_value())
    fields.complain(bytes ? "bytes" : "bandwidth", "says nothing without the other of the two",
                    "bytes and bandwidth");
  if (jitter && jitter->has_memory())
    fields.complain("jitter", "must be drawn independently", "of an empirical law: mode bootstrap");
  if (!fields.good()) return nullptr;
  double time = flop / flop_rate;
  if (bytes) time = std::max(time, *bytes / *bandwidth);
  constexpr double least = 1e-100, most = 1e100;
  if (!(least <= time && time <= most)) {
    fields.complain("flop", "makes a minibatch take " + number_text(time) + " units of time",
                    number_text(least) + " to " + number_text(most));
    return nullptr;
  }
  return jitter ? shifted(jitter, 0, 1 / time) : make_deterministic(time);
}

}  // namespace

extern const DistributionEntry roofline_entry{page, read};

}  // namespace gradrace
