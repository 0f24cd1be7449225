"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Wang, Joshi, IEEE
Journal on Selected Areas in Information Theory, 2021): AdaSync. What that paper repeats of Dutta et
al., 2018 is judged there."""

from papers.dutta2021.races import cifar10_cnn, grey_cifar10, mnist, quadratic
from papers.dutta2021.rates import mnist_rates
from papers.dutta2021.recursion import batch_sync, k_sync
from papers.dutta2021.rule import choices
from reproduce.words import answers_of

TITLE = "Slow and Stale Gradients Can Win the Race: AdaSync (Dutta, Wang, Joshi, JSAIT 2021)"
LINK = "https://arxiv.org/abs/2003.10579"
QUESTION = (
    "Does a K that grows while the loss falls, chosen by the bound on the error (AdaSync), combine the "
    "quick start of a small K with the low floor of a large one?"
)
ANSWERS = answers_of("dutta2021")
CAVEATS = [
    "The paper could not be read in full: the rules of K are derived from its bound, and what is "
    "claimed of its experiments are orderings known from summaries: AdaSync starts as a small K "
    "does and ends as the largest. Its figures are not here to compare with.",
    "Where the paper trained a CNN on CIFAR-10, a quadratic, softmax on MNIST and softmax on "
    "2,000 rows of grey CIFAR-10 stand in, each in a regime in which a small K floors within the "
    "budget; the CNN is a scenario that takes a GPU.",
    "At one rate AdaSync's lead over its K0 is as large as that rate makes K0's floor high. With a rate "
    "of its own for each, chosen on other replicas, K0 loses nothing on MNIST.",
    "The paper takes the least loss F* as 0. On MNIST the loss falls by no more than a factor of "
    "7, and K stays at 4; on grey CIFAR-10, where it falls by 12 %, K never leaves K0. There the "
    "rule is given an estimate of F* (key least_loss).",
]

ABOUT = {
    20: "rules of K",
    21: "AdaSync against fixed K by the recursion of the expected error",
    22: "AdaSync against fixed K in training: CIFAR-10, and what stands in for it",
}

EXPERIMENTS = [
    (choices, [20]),
    (k_sync, [21]),
    (batch_sync, [21]),
    (quadratic, [22]),
    (mnist, [22]),
    (mnist_rates, [22]),
    (grey_cifar10, [22]),
    (cifar10_cnn, [22]),
]
