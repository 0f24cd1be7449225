#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/check.h"
#include "sim/make_protocol.h"
#include "sim/python/python_process.h"
#include "sim/run_error.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "python",
    .definition = R"(A class of a Python file, to try a protocol with a server that nobody has
written in C++.  Each run makes one object of it, in a process of its own; time, random numbers and
parameters stay gradrace's:

    class Policy:
        def __init__(self, **arguments): ...
        def start(self, server): ...                      # without it: server.dispatch_waiting()
        def on_gradient(self, server, gradient): ...      # it has arrived, its learner is idle
        def on_timer(self, server): ...
        def on_loss(self, server, learner): ...           # it has failed, its minibatch is lost
        def on_return(self, server, learner): ...         # it is back, and computes another
        def on_evaluation(self, server, evaluation): ...  # loss, test_loss, test_error

Only on_gradient must be there.  A gradient has learner, version (that its learner read), draw,
begin and computed.  What a server tells, and may be ordered:

    learners()  version()  accepted()  time()  work()     # work: gradients, samples, epochs
    computing(learner)                                    # a gradient; None: it is idle, or down
    random(number)                                        # a random.Random, by seed and replica
    dispatch(learner)  dispatch_waiting()                 # who is idle begins at this version
    accept(gradient)  drop(gradient)  hold(gradient)  release(gradient)
    update()  apply(gradient)                             # apply: accept it, and update
    cancel(gradient)  cancel_all()
    timer(time)                                           # at it, as time() + 1; math.inf: none
    evaluate_at(time)  pause(length)                      # where the scenario allows them
    k()  set_k(k)                                         # K in force, at first the scenario's

on_gradient accepts, drops or holds what has arrived.  An order that cannot be raises a ValueError;
on_evaluation may order timer, evaluate_at and set_k.  An exception, nobody left computing and no
timer, more than 10,000 + P events at one time, a fork, an end of the process, or a call that takes
longer than timeout, fails the run with the file's line; other runs go on.  What a class does must depend on what it is told, its arguments
and server.random alone: runs are then the same for any --jobs, and after an interruption.

The file is run only where it is below the scenario's own folder, or with --allow-python; from a
manifest only with that.  validate, theory, report, plot and collect never import it.  Its hash,
without files that it imports, is in the manifest.  What is imported is what was hashed, whatever
becomes of the file.  It is slow: some 10,000 events a second, and 40 ms for each run.  Theory
knows nothing of it, and it is no phase of switch.)",
    .source = "the user's",
    .example = R"({"kind": "python", "file": "policy.py", "class": "Policy", "k": 4})"};

constexpr PythonKind python_policy{"protocol", "protocol_worker.py", "on_gradient", ""};

struct Config {
  PythonClass python;
  std::uint32_t k = 1;
  bool evaluations = false, pauses = false;
};

/// What happens, or an answer to a question: as protocol_worker.py reads it.
struct Message {
  enum Kind : std::uint32_t { start, gradient, loss, back, timer, evaluation };

  std::uint32_t kind = 0, learner = 0, gradient_id = 0, version = 0, draw = 0, more = 0;
  double time = 0, numbers[3] = {};

  void set(const GradientFacts& facts) {
    learner = facts.learner, gradient_id = facts.gradient, version = facts.version;
    draw = facts.draw;
    numbers[0] = facts.begin, numbers[1] = facts.computed;
  }
};
static_assert(sizeof(Message) == 56);

class PythonProtocol final : public ServerProtocol {
 public:
  explicit PythonProtocol(std::shared_ptr<const Config> config)
      : config_(std::move(config)), k_(config_->k) {}

  void start(Server& server) override {
    if (!config_->python.may_run()) refuse("is not imported by this command");
    process_ = std::make_unique<PythonProcess>(config_->python);
    Stream words = server.random(0);
    tell(server, {.kind = Message::start,
                  .learner = server.learners(),
                  .gradient_id = k_,
                  .version = config_->evaluations * 1u + config_->pauses * 2u,
                  .draw = words(),
                  .more = words()});
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    open_[arrival.gradient] = arrival;
    Message message{.kind = Message::gradient};
    message.set(arrival);
    tell(server, message);
    if (!open_.empty()) refuse(no_order);
  }
  void on_loss(Server& server, std::uint32_t learner) override {
    tell(server, {.kind = Message::loss, .learner = learner});
  }
  void on_return(Server& server, std::uint32_t learner) override {
    tell(server, {.kind = Message::back, .learner = learner});
  }
  void on_timer(Server& server) override { tell(server, {.kind = Message::timer}); }
  void on_evaluation(Server& server, const Evaluation& of) override {
    tell(server, {.kind = Message::evaluation, .numbers = {of.loss, of.test_loss, of.test_error}});
  }

  std::uint32_t k() const override { return k_; }
  Traits traits() const override {
    return {.needs_evaluations = config_->evaluations,
            .pauses = config_->pauses,
            .no_phase = "file",
            .k_varies = true,
            .in_python = true};
  }
  std::string data_hash() const override {
    if (!config_->python.missing.empty()) throw RunError(config_->python.missing);
    return config_->python.hash;
  }

 private:
  enum class Order : std::uint8_t {
    dispatch,
    dispatch_waiting,
    accept,
    drop,
    hold,
    release,
    cancel,
    cancel_all,
    update,
    pause,
    timer,
    evaluate_at,
    set_k
  };
  enum class Question : std::uint8_t { none, computing, work };

  static constexpr const char* no_order = "orders what cannot be";

  [[noreturn]] void refuse(const std::string& what) const {
    throw RunError(config_->python.file.string() + ": class " + config_->python.name + " " + what);
  }

  /// Obeys the orders that come back, and answers questions between them.
  void tell(Server& server, Message message) {
    constexpr std::uint32_t many = 10'000;
    if (std::exchange(now_, server.time()) != server.time()) events_now_ = 0;
    if (++events_now_ > many + server.learners())
      refuse("has been told of " + std::to_string(events_now_) + " events at one time");
    const std::size_t function = message.kind;
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      message.time = server.time();
      const PythonProcess::Answer answer =
          process_->call(function, {reinterpret_cast<const char*>(&message), sizeof message});
      try {
        obey(server, answer.text);
        const auto question = static_cast<Question>(number(answer.head.numbers[0]));
        if (question == Question::none) return;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        if (passed.count() > config_->python.timeout) process_->fail_as_late();
        message = question == Question::work
                      ? work(server)
                      : computing(server, learner(server, answer.head.numbers[1]));
      } catch (const BrokenInvariant& broken) {
        const std::string_view what = broken.what();
        refuse(std::string(no_order) + std::string(what.substr(what.rfind(": "))));
      }
    }
  }

  static Message work(const Server& server) {
    const Work& work = server.work();
    return {.numbers = {static_cast<double>(work.gradients), static_cast<double>(work.samples),
                        work.epochs}};
  }
  static Message computing(const Server& server, std::uint32_t learner) {
    const GradientFacts* const gradient = server.computing(learner);
    Message message{.kind = gradient != nullptr};
    if (gradient) message.set(*gradient);
    return message;
  }

  /// Pairs of an order and its number.
  void obey(Server& server, const std::string& orders) {
    double pair[2];
    for (std::size_t at = 0; at + sizeof pair <= orders.size(); at += sizeof pair) {
      std::memcpy(pair, orders.data() + at, sizeof pair);
      obey(server, static_cast<Order>(number(pair[0])), pair[1]);
    }
  }
  void obey(Server& server, Order order, double value) {
    using enum Order;
    switch (order) {
      case dispatch:
        return server.dispatch(learner(server, value));
      case dispatch_waiting:
        return server.dispatch_waiting();
      case accept:
        return server.accept(taken(open_, value));
      case drop:
        return server.drop(taken(open_, value));
      case hold:
        return server.hold(moved(open_, held_, value));
      case release:
        return server.release(moved(held_, open_, value));
      case cancel:
        if (const auto* gradient = server.computing(learner(server, value)))
          return server.cancel(*gradient);
        break;
      case cancel_all:
        return server.cancel_all();
      case update:
        if (!open_.empty()) break;  // books count it nowhere
        return server.update();
      case pause:
        return server.pause(value);
      case timer:
        return server.timer(value);
      case evaluate_at:
        return server.evaluate_at(value);
      case set_k:
        k_ = number(value);
        return;
    }
    refuse(no_order);
  }

  std::uint32_t number(double value) const {
    if (!(value >= 0 && value <= 0xffffffff)) refuse(no_order);
    return static_cast<std::uint32_t>(value);
  }
  std::uint32_t learner(const Server& server, double value) const {
    if (!(value < server.learners())) refuse(no_order);
    return number(value);
  }

  using Gradients = std::map<GradientId, GradientFacts>;
  GradientFacts taken(Gradients& from, double value) const {
    const auto found = from.extract(number(value));
    if (!found) refuse(no_order);
    return found.mapped();
  }
  const GradientFacts& moved(Gradients& from, Gradients& to, double value) const {
    return to[number(value)] = taken(from, value);
  }

  const std::shared_ptr<const Config> config_;
  std::uint32_t k_;
  std::unique_ptr<PythonProcess> process_;
  Gradients open_, held_;  // that have arrived
  double now_ = -1;        // of the last event
  std::uint32_t events_now_ = 0;
};

MakeProtocol read(Fields& fields, const Setting& setting) {
  auto config = std::make_shared<Config>();
  PythonClass& python = config->python;
  python.kind = &python_policy;
  python.timeout = 60;
  const Location location = visit_python_class(fields, python);
  fields.integer("k", config->k, Need::defaulted, at_least(1),
                 "K: gradients in an update, as tables and learning rates count them");
  fields.flag("evaluations", config->evaluations, Need::defaulted,
              "it asks for the loss (evaluate_at), and needs a model");
  fields.flag("pauses", config->pauses, Need::defaulted, "it keeps the server busy (pause)");
  visit_timeout(fields, python);
  if (!fields.good()) return {};
  PythonFiles none, &files = setting.python ? *setting.python : none;
  const auto missing = read_python_file(fields, python, location, files, true);
  if (missing && python.setting.use != PythonUse::leave) fields.lacks("file", *missing);
  if (!fields.good()) return {};
  return [config] { return std::make_unique<PythonProtocol>(config); };
}

}  // namespace

extern const ProtocolEntry python_protocol_entry{page, read};

}  // namespace gradrace
