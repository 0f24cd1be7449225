"""Figures and claims of "DaSGD: Squeezing SGD Parallelization Performance in Distributed Training
Using Delayed Averaging" (Zhou et al., arXiv 2006.00441), and of Local SGD."""

from papers.zhou2020.accuracy import mnist, resnet
from papers.zhou2020.local import drift, floor, speedup, waiting
from papers.zhou2020.merge import effective_steps, merge
from papers.zhou2020.rounds import lateness, rounds
from papers.zhou2020.scale import scale, scale_with_nodes
from papers.zhou2020.slope import slope
from papers.zhou2020.sync import one_step, quadratic
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "DaSGD: Local SGD with delayed averaging (Zhou et al., 2020)"
LINK = "https://arxiv.org/abs/2006.00441"
QUESTION = (
    "Can averages of Local SGD be delayed by a few steps, so that all communication is hidden, at little cost "
    "in accuracy?"
)
ANSWERS = answers_of("zhou2020")
CAVEATS = caveats_of("zhou2020")
ABOUT = checklist_of("zhou2020")

EXPERIMENTS = [
    (one_step, ["1"]),
    (quadratic, ["1"]),
    (speedup, ["2"]),
    (waiting, ["2"]),
    (drift, ["2"]),
    (floor, ["2"]),
    (rounds, ["3"]),
    (lateness, ["3"]),
    (scale, ["3"]),
    (scale_with_nodes, ["3"]),
    (merge, ["4"]),
    (effective_steps, ["4"]),
    (slope, ["5"]),
    (mnist, ["6"]),
    (resnet, ["6"]),
]
