"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Joshi, Ghosh, Dube,
Nagpurkar, AISTATS 2018) and its supplement. The tables beside the figures are what is plotted in
the paper."""

from papers.dutta2018.fig3 import timelines
from papers.dutta2018.fig5 import fig5, fig5_cold
from papers.dutta2018.fig6 import fig6_cold, fig6_long
from papers.dutta2018.fig7 import fig7
from papers.dutta2018.fig8 import fig8
from papers.dutta2018.fig9 import fig9
from papers.dutta2018.fig10 import fig10
from papers.dutta2018.fig11_12 import fig11, fig12
from papers.dutta2018.fig14 import fig14
from papers.dutta2018.floors import floors
from papers.dutta2018.updates_of_eight import updates_of_eight

TITLE = "Slow and Stale Gradients Can Win the Race (Dutta et al., AISTATS 2018)"
LINK = "https://arxiv.org/abs/1803.01113"
QUESTION = (
    "Is it better to wait for slow learners, so that gradients are fresh, or to go on with stale ones, "
    "when what counts is the error against time and not against iterations?"
)
ANSWERS = {
    "fig3": "K-async has learners that wait for an update; K-batch-async has none, as a learner goes on "
    "with the version that it has.",
    "fig5": "Async updates faster than sync for every law, as Theorem 1 says; 1 + exp(1) gains least, and "
    "Pareto(2, 1) overtakes exp(1) between P = 12 and 13.",
    "fig6_long_pareto": "In the long run the times are those of Lemmas 3 and 4, and K-async, which is "
    "faster than K-sync at K = 12, is slower at K = 13.",
    "fig6_long_shifted-exponential": "In the long run the times are those of Lemmas 3 and 4, "
    "K-batch-async's K E[X] / P among them.",
    "fig6_pareto": "From cold starts, and with twenty draws a learner, the plotted values are met within "
    "6 %; K-batch-async as plotted is not the K E[X] / P of Lemma 4 at K = 10 and 20.",
    "fig6_shifted-exponential": "From cold starts, and with twenty draws a learner, the plotted values "
    "are met within 3 %; K-batch-async as plotted is not the K E[X] / P of Lemma 4 at K = 10 and 20.",
    "theorem2": "To wait for K distinct learners costs nothing at K = 1 and a factor of 2.72 at K = P = 8, "
    "for the sync and the async family alike, as Theorem 2 has it.",
    "fig7": "Async's bound falls five times as fast as sync's and ends higher, so that they cross; the "
    "errors of runs lie below both.",
    "floors": "A floor falls as 1 / K, async's lies above 1-sync's, the more so the larger the rate, and "
    "Lemma 2's bound holds throughout.",
    "fig8": "On MNIST async is first, K-batch-async takes some three times as long to the same loss and "
    "sync some seventeen times.",
    "fig9": "With the variable rate the loss falls smoothly to the plotted level; with the fixed rate it "
    "has bursts.",
    "fig10": "K-batch-async makes its updates faster than K-async by the factor of Theorem 2, and both "
    "end at nearly the same loss.",
    "fig11": "The smaller K, the noisier the loss and the higher its level, as plotted.",
    "fig12": "K = 2 is best at first and K = 4 later, while K = 8 is worst for most of the time.",
    "fig14": "An iteration takes m / 512 + H_4: it grows in a straight line with the minibatch m.",
}
CAVEATS = [
    "Slips of the paper that are corrected here: the step size of Theorem 3 needs M_G / (K m) +"
    " 1, not M_G / (K m) + 1 / K (equal at K = 1); the largest step sizes are the smaller, not "
    "the larger, of two limits; the axis of Fig 5 is the speed-up, not its logarithm; Fig 6 is "
    "of cold starts and cuts K-batch-async off at 20 minibatches a learner; two curves of Fig "
    "13 are drawn against time.",
    "Where the paper disagrees with itself: the text has X ~ m + exp(1) for Fig 12, whose plotted "
    "times have no shift; Fig 10's caption has exp(1), but its times of an update are some ten "
    "times as long; two plots are of cold starts and not what the theorems say.",
]

ABOUT = {
    1: "K-sync's time of an update is the order statistic E[X_{K:P}]",
    2: "times of an update, exp(1), P = 8, K = 4",
    3: "times of an update, 1 + exp(1), P = 8, K = 4",
    4: "K-batch-async's time of an update is K E[X] / P for any law (Lemma 4)",
    5: "K-async against K-sync by the law's ageing (Lemma 5)",
    6: "orders that hold always",
    7: "mean staleness and share of fresh gradients",
    8: "Fig 5: speed-up of async over sync",
    9: "Fig 6: time of 2,000 iterations against K",
    10: "Theorem 2: ratios for P = 8",
    11: "Fig 7: error bounds against time",
    12: "floors of the error on a quadratic",
    13: "Lemma 2 bounds the mean error on a quadratic",
    14: "Fig 8: sync, K-batch-async and async on MNIST",
    15: "Fig 9: variable learning rate on CIFAR-10",
    16: "Fig 10: K-async against K-batch-async on MNIST",
    17: "Fig 11: how noisy a small K is, MNIST",
    18: "Fig 12: which K is best when, MNIST",
    19: "Fig 14: the clock of larger minibatches",
}

# Claims that notice no falsified output, and why.
UNNOTICED = {"16.loss": "both are equal"}

EXPERIMENTS = [
    (timelines, [6]),
    (fig5, [8]),
    (fig5_cold, [8]),
    (fig6_long, [9, 5]),
    (fig6_cold, [9]),
    (updates_of_eight, [1, 2, 3, 4, 5, 6, 7, 10]),
    (fig7, [11]),
    (floors, [12, 13]),
    (fig8, [14]),
    (fig9, [15]),
    (fig10, [16]),
    (fig11, [17]),
    (fig12, [18]),
    (fig14, [19]),
]
