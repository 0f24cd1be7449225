"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Wang, Joshi, IEEE
Journal on Selected Areas in Information Theory, 2021): AdaSync. What that paper repeats of Dutta et
al., 2018 is judged there."""

from papers.dutta2021.races import cifar10_cnn, grey_cifar10, mnist, quadratic
from papers.dutta2021.rates import mnist_rates
from papers.dutta2021.recursion import batch_sync, k_sync
from papers.dutta2021.rule import choices
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Slow and Stale Gradients Can Win the Race: AdaSync (Dutta, Wang, Joshi, JSAIT 2021)"
LINK = "https://arxiv.org/abs/2003.10579"
QUESTION = (
    "Does a K that grows while the loss falls, chosen by the bound on the error (AdaSync), combine the "
    "quick start of a small K with the low floor of a large one?"
)
ANSWERS = answers_of("dutta2021")
CAVEATS = caveats_of("dutta2021")
ABOUT = checklist_of("dutta2021")

EXPERIMENTS = [
    (choices, ["20"]),
    (k_sync, ["21"]),
    (batch_sync, ["21"]),
    (quadratic, ["22"]),
    (mnist, ["22"]),
    (mnist_rates, ["22"]),
    (grey_cifar10, ["22"]),
    (cifar10_cnn, ["22"]),
]
