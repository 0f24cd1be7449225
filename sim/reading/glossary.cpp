#include "sim/reading/glossary.h"

#include <string>

namespace gradrace {

namespace {

constexpr Synonym terms[] = {
    {"BSP, bulk synchronous parallel, bulk synchronous, synchronous, synchronous SGD, sync SGD, "
     "SSGD",
     "sync", "an update waits for the gradients of all workers"},
    {"ASP, Hogwild, asynchronous, asynchronous SGD, async SGD, ASGD, Downpour", "async",
     "each gradient is an update when it arrives"},
    {"stale synchronous parallel, stale synchronous", "ssp",
     "asynchronous, but nobody is more steps ahead than a bound"},
    {"straggler mitigation, straggler, drop stragglers, backup workers", "backup",
     "an update does without the slowest workers"},
    {"FedBuff", "k-batch-async", "an update is the mean of the next K gradients"},
    {"DDP, FSDP, ZeRO, data parallel, allreduce, ring all-reduce, Horovod", "all-reduce",
     "workers average their gradients with each other, without a server"},
    {"FedAvg, federated averaging, federated learning, federated, DiLoCo, local steps, periodic "
     "averaging",
     "local-sgd", "workers step alone and average their models now and then"},
    {"async DiLoCo, asynchronous local SGD, delayed Nesterov, DyLU", "async-local-sgd",
     "each worker brings its local steps to a coordinator when they are made"},
    {"gossip, decentralized SGD", "d-psgd", "workers average with their neighbours in a graph"},
    {"post-local SGD", "switch", "one protocol after another"},
    {"worker, rank, GPU, client, machine", "learners", "what computes gradients"},
    {"PS, parameter server", "server", "what holds the model; protocols have one or none"},
    {"step time, batch time, iteration time of a worker", "runtime",
     "how long one worker takes for one minibatch: a distribution, or measured times"},
    {"batch, batch size, local batch size", "minibatch", "rows in one gradient of one worker"},
    {"LR, step size, alpha", "learning_rate", "eta of the update rule"},
    {"accuracy, test accuracy, top-1 accuracy", "test_error", "1 - accuracy"},
    {"configuration, trial, arm, grid search", "sweep",
     "what is compared; one combination of its values is a point"},
    {"seeds, repetition, repeat", "replicas",
     "runs of a point with other random numbers; their mean has an interval"},
    {"Gaussian", "normal", "a distribution"},
    {"exp, expon", "exponential", "a distribution"},
    {"Erlang", "gamma", "a distribution"},
    {"constant", "deterministic", "a distribution"},
    {"Bernoulli", "two-point", "a distribution"},
    {"trace", "empirical", "a distribution: measured times"},
    {"SGDM", "sgd", "an optimiser"},
    {"error feedback, EF", "memory", "what messages leave out is added to the next gradient"},
    {"gradient quantisation, quantization, sparsification", "compression",
     "gradients are sent in fewer bytes"},
    {"1-bit SGD, signSGD, EF-signSGD", "sign", "a compression"},
    {"PowerSGD, low-rank gradients", "power", "a compression"},
    {"DC-ASGD, delay compensation", "delay_compensation",
     "of `optimiser`: late gradients are corrected by how far the model has moved"},
    {"linear regression", "least-squares", "a model"},
    {"hinge loss, support vector machine", "svm", "a model"},
    {"tensor parallelism, tensor parallel, Megatron", "group",
     "of `cluster`: a learner is several devices, which divide each layer"},
    {"model parallelism, model parallel, hybrid parallelism", "layers",
     "of `cluster.network`: learners divide layers"},
};

std::string folded(std::string_view words) {
  std::string result;
  for (const char c : words) {
    if (c == '-' || c == '_' || c == ' ' || c == '!') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

/// One of a term's names, or its plural.
bool is_one_of(std::string_view names, const std::string& word) {
  while (!names.empty()) {
    const std::size_t end = names.find(',');
    const std::string name = folded(names.substr(0, end));
    if (word == name || word == name + "s" || word + "s" == name) return true;
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
  return false;
}

}  // namespace

std::span<const Synonym> glossary() { return terms; }

const Synonym* synonym_of(std::string_view word) {
  const std::string wanted = folded(word);
  for (const Synonym& term : terms)
    if (!wanted.empty() && is_one_of(term.theirs, wanted)) return &term;
  return nullptr;
}

}  // namespace gradrace
