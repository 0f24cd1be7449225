"""Figures and claims of "Heterogeneity-Aware Asynchronous Decentralized Training" (Luo, He, Zhuo,
Qian, 2019): Ripples, which its ASPLOS 2020 version calls Prague."""

from papers.luo2019.ad_psgd import slow_learner, standstill
from papers.luo2019.agreement import groups, mean, static
from papers.luo2019.communicators import communicators
from papers.luo2019.iterations import iterations
from papers.luo2019.losses import cifar10, losses, resnet
from papers.luo2019.throughput import throughput
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Heterogeneity-Aware Asynchronous Decentralized Training (Luo et al., 2019): Ripples"
LINK = "https://arxiv.org/abs/1909.08029"
QUESTION = (
    "Can learners that average in small groups be as fast as All-Reduce on equal machines and, unlike it, "
    "stay fast where one machine is slow?"
)
ANSWERS = answers_of("luo2019")
HEAD = (
    "The paper was not read in full: its abstracts give ratios, and its authors' program the static "
    "schedule. The clock is fitted to these ratios, so that claims marked as fitted show that one "
    "clock explains all of them, and not that they follow from the machines."
)
CAVEATS = caveats_of("luo2019")
ABOUT = checklist_of("luo2019")

EXPERIMENTS = [
    (throughput, ["3", "4", "5", "6"]),
    (losses, ["3", "4"]),
    (cifar10, ["3", "4"]),
    (resnet, ["3"]),
    (mean, ["1"]),
    (static, ["2"]),
    (groups, ["9"]),
    (iterations, ["8"]),
    (standstill, ["7"]),
    (slow_learner, ["7"]),
    (communicators, ["10"]),
]
