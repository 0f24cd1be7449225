"""Figures and claims of "Staleness-aware Async-SGD for Distributed Deep Learning" (Zhang, Gupta,
Lian, Liu, IJCAI 2016), and orderings of its companion (Gupta, Zhang, Wang, ICDM 2016)."""

from papers.zhang2016.averages import averages, updates
from papers.zhang2016.epochs import epochs
from papers.zhang2016.fig1 import fig1, fig1_in_step
from papers.zhang2016.fig2 import fig2
from papers.zhang2016.fig3_mnist import fig3_cnn, fig3_perceptron, fig3_softmax
from papers.zhang2016.fig3_quadratic import fig3_quadratic, serial
from papers.zhang2016.fig3_rates import fig3_perceptron_rates, fig3_rates
from papers.zhang2016.jitter import jitter
from papers.zhang2016.overlap import overlap
from papers.zhang2016.trade_off import trade_off
from papers.zhang2016.trade_off_rates import trade_off_rates
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Staleness-aware Async-SGD for Distributed Deep Learning (Zhang et al., IJCAI 2016)"
LINK = "https://arxiv.org/abs/1511.05950"
QUESTION = (
    "How stale are the gradients of n-softsync, and does a learning rate divided by the staleness keep the "
    "accuracy of synchronous SGD?"
)
ANSWERS = answers_of("zhang2016")
CAVEATS = caveats_of("zhang2016")
ABOUT = checklist_of("zhang2016")

EXPERIMENTS = [
    (fig1, ["4"]),
    (fig1_in_step, ["4"]),
    (averages, ["1", "3"]),
    (updates, ["2"]),
    (fig2, ["8"]),
    (jitter, ["8"]),
    (fig3_quadratic, ["1", "5", "6", "7"]),
    (fig3_softmax, ["5", "6"]),
    (fig3_rates, ["5"]),
    (fig3_perceptron, ["5"]),
    (fig3_perceptron_rates, ["5"]),
    (fig3_cnn, ["5"]),
    (serial, ["1"]),
    (epochs, ["9"]),
    (trade_off, ["10"]),
    (trade_off_rates, ["10"]),
    (overlap, ["11"]),
]
