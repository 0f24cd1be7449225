"""Figures and claims of "Staleness-aware Async-SGD for Distributed Deep Learning" (Zhang, Gupta,
Lian, Liu, IJCAI 2016), and orderings of its companion (Gupta, Zhang, Wang, ICDM 2016)."""

from papers.zhang2016.averages import averages, updates
from papers.zhang2016.epochs import epochs
from papers.zhang2016.fig1 import fig1, fig1_in_step
from papers.zhang2016.fig2 import fig2
from papers.zhang2016.fig3_cnn import fig3_cnn
from papers.zhang2016.fig3_mnist import fig3_perceptron, fig3_softmax
from papers.zhang2016.fig3_quadratic import fig3_quadratic, serial
from papers.zhang2016.fig3_rates import fig3_perceptron_rates, fig3_rates
from papers.zhang2016.jitter import jitter
from papers.zhang2016.overlap import overlap
from papers.zhang2016.trade_off import trade_off
from papers.zhang2016.trade_off_rates import trade_off_rates
from reproduce.words import answers_of

TITLE = "Staleness-aware Async-SGD for Distributed Deep Learning (Zhang et al., IJCAI 2016)"
LINK = "https://arxiv.org/abs/1511.05950"
QUESTION = (
    "How stale are the gradients of n-softsync, and does a learning rate divided by the staleness keep the "
    "accuracy of synchronous SGD?"
)
ANSWERS = answers_of("zhang2016")
CAVEATS = [
    "The paper says neither how long its minibatches take nor how much that varies; its own "
    "figures bound it: Fig 1's staleness needs a coefficient of variation below 27 %, and that "
    "ASGD is 50 % faster than SSGD needs 24.5 % if nothing but waiting makes the difference.",
    "The mean staleness is exactly (lambda - 1) / c when a learner reads after the update that "
    "its gradient completed, lambda / c when it reads before: both are the paper's n or so. What "
    "lies beyond 2 n is decided by the law of the times alone: exponential times cannot "
    "reproduce Fig 1. Learners that start in step are staler for thousands of minibatches than "
    "those that have fallen out of step.",
    "The CNN on CIFAR-10 is replaced by a quadratic, and by softmax and a small perceptron on "
    "MNIST. Their rates were chosen so that one rate fails for large n; with a rate of its own every n "
    "learns. With softmax none is then behind. With the perceptron, after 1 epoch and by 16 replicas that "
    "chose no rate, n = 1, 6 and 30 end 0.013, 0.011 and 0.006 above hardsync's 0.052 (standard errors 0.0007 "
    "or less): that is what staleness costs there, and it does not grow with n. At one rate n = 2 can end below hardsync while the run is short: an epoch of "
    "n-softsync spends n times the learning rate. The paper's 140 epochs leave no room for that; here "
    "it is so for the perceptron, of which only learning and failing are claimed.",
    "That the test error is a function of mu lambda is shown at one alpha0, 0.003, and within 1 epoch. "
    "At the best of six alpha0 for each protocol, lambda and mu, by 12 replicas that chose none, pairs of one "
    "product still end within 0.005 of one another, and 32 learners with minibatches of 4 end 0.003 (standard "
    "error 0.0013) above one with 128. But how much the product matters is mostly the rate's doing. From "
    "mu lambda = 128 to 512 hardsync's test error rises by 0.042 at the one alpha0 and by -0.001 at the best, "
    "1-softsync's by 0.042 and 0.013, lambda-softsync's by 0.034 and 0.008 (standard errors 0.0008 or less). "
    "With 512 the best alpha0 is 0.31 for hardsync, and 0.05 where gradients are stale.",
]

ABOUT = {
    1: "hardsync: no staleness, serial SGD with a minibatch of mu lambda",
    2: "an update of n-softsync takes floor(lambda / n) gradients, none is dropped",
    3: "mean staleness (lambda - 1) / c or lambda / c for any law",
    4: "Fig 1: staleness up to 2 n with low jitter",
    5: "Fig 3: one rate fails for large n, alpha0 / tau does not",
    6: "alpha0 / tau is alpha0 where nothing is stale",
    7: "n = lambda is asynchronous SGD (Downpour)",
    8: "Fig 2: time of an epoch, hardsync against 1-softsync",
    9: "lambda-softsync makes lambda times more updates",
    10: "error is a function of mu lambda",
    11: "overlap: shorter epochs, staler gradients",
}

EXPERIMENTS = [
    (fig1, [4]),
    (fig1_in_step, [4]),
    (averages, [1, 3]),
    (updates, [2]),
    (fig2, [8]),
    (jitter, [8]),
    (fig3_quadratic, [1, 5, 6, 7]),
    (fig3_softmax, [5, 6]),
    (fig3_rates, [5]),
    (fig3_perceptron, [5]),
    (fig3_perceptron_rates, [5]),
    (fig3_cnn, [5]),
    (serial, [1]),
    (epochs, [9]),
    (trade_off, [10]),
    (trade_off_rates, [10]),
    (overlap, [11]),
]
