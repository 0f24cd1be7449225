"""Figures and claims of "Heterogeneity-Aware Asynchronous Decentralized Training" (Luo, He, Zhuo,
Qian, 2019): Ripples, which its ASPLOS 2020 version calls Prague."""

TITLE = "Heterogeneity-Aware Asynchronous Decentralized Training (Luo et al., 2019): Ripples"
LINK = "https://arxiv.org/abs/1909.08029"
QUESTION = (
    "Can learners that average in small groups be as fast as All-Reduce on equal machines and, unlike it, "
    "stay fast where one machine is slow?"
)
HEAD = (
    "The paper was not read in full: its abstracts give ratios, and its authors' program the static "
    "schedule. The clock is fitted to these ratios, so that claims marked as fitted show that one "
    "clock explains all of them, and not that they follow from the machines."
)

EXPERIMENTS = {
    "throughput:throughput": ["3", "4", "5", "6"],
    "losses:losses": ["3", "4"],
    "losses:cifar10": ["3", "4"],
    "losses:resnet": ["3.resnet"],
    "agreement:mean": ["1"],
    "agreement:static": ["2"],
    "agreement:groups": ["9"],
    "iterations:iterations": ["8"],
    "ad_psgd:standstill": ["7"],
    "ad_psgd:slow_learner": ["7"],
    "communicators:communicators": ["10"],
}
