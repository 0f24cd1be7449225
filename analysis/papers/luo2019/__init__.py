"""Figures and claims of "Heterogeneity-Aware Asynchronous Decentralized Training" (Luo, He, Zhuo,
Qian, 2019): Ripples, which its ASPLOS 2020 version calls Prague."""

from papers.luo2019.ad_psgd import slow_learner, standstill
from papers.luo2019.agreement import groups, mean, static
from papers.luo2019.communicators import communicators
from papers.luo2019.iterations import iterations
from papers.luo2019.losses import cifar10, losses, resnet
from papers.luo2019.throughput import throughput
from reproduce.words import answers_of

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
CAVEATS = [
    "The rest of the paper's figures is not here to compare with. The ratios are those of VGG-16 on "
    "CIFAR-10 on 4 nodes of 4 GPUs. The clock is calibrated so that they come out: 45 ms a minibatch, "
    "60 MB, 5 GB/s a network card, 10 GB/s inside a node, 6 GB/s for the server.",
    "AD-PSGD's place is not physics: its exchange of 60 MB takes 12 ms on these links, and then it is as "
    "fast as All-Reduce. For the paper's 3.7 to 4.3 an exchange must block both sides for 0.4 s, and "
    "even then those who only answer go on alone while nobody asks them: a learner of sixteen is 2.6 "
    "times as slow as with All-Reduce, not 3.1 to 3.9.",
    "Softmax on MNIST and on CIFAR-10 learns in place of VGG-16, at the times of VGG-16. What "
    "is claimed of losses are ratios of times.",
    "Where groups pass a network card at once and divide its bandwidth, group division is slower than "
    "All-Reduce on equal machines; groups across nodes then take one learner of each node, which is what "
    "inter-intra is for. The checklist is judged with cards that do not divide theirs.",
]

ABOUT = {
    1: "a group's average leaves the mean; a group of all is All-Reduce of models",
    2: "the static schedule",
    3: "equal machines: who is fast",
    4: "one learner at a fifth of the speed",
    5: "one learner at half the speed",
    6: "conflicts and groups",
    7: "AD-PSGD: standstill, and one slow learner",
    8: "minibatches to a loss",
    9: "how much a partition into groups contracts",
    10: "setting up communicators",
}

EXPERIMENTS = [
    (throughput, [3, 4, 5, 6]),
    (losses, [3, 4]),
    (cifar10, [3, 4]),
    (resnet, [3]),
    (mean, [1]),
    (static, [2]),
    (groups, [9]),
    (iterations, [8]),
    (standstill, [7]),
    (slow_learner, [7]),
    (communicators, [10]),
]
