"""Figures and claims of "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
Optimization" (Vogels, Karimireddy, Jaggi, NeurIPS 2019)."""

TITLE = "PowerSGD: factors of gradients (Vogels et al., 2019)"
LINK = "https://arxiv.org/abs/1905.13727"
QUESTION = (
    "In place of a gradient learners send two factors of each of its matrices, which a ring can add. What do they save, "
    "and do they learn as whole gradients do, and better than as many bytes of the largest numbers, or of any?"
)
HEAD = (
    "Of the paper its algorithm was read, in its authors' code; its tables were not at hand, so that their orders "
    "are claimed and none of their numbers. A perceptron has the place of its networks."
)

EXPERIMENTS = {
    "messages:cost": ["1", "2"],
    "messages:latency": ["3"],
    "messages:learners": ["3"],
    "training:left_out": ["4"],
    "training:mnist": ["5", "6", "7", "8"],
}
