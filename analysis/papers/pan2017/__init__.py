"""Figures and claims of "Revisiting Distributed Synchronous SGD" (Pan, Chen, Monga, Bengio,
Jozefowicz, arXiv 1702.05800, 2017; the same as Chen et al., arXiv 1604.00981)."""

from papers.pan2017.backups_of_50 import backups_of_50
from papers.pan2017.cnn import fig2_cnn, fig5_cnn, fig7_cnn, fig8_cnn
from papers.pan2017.fig2 import fig2, fig2_quadratic, ramp
from papers.pan2017.fig3_4 import fig3_4
from papers.pan2017.fig5 import fig5
from papers.pan2017.fig6 import fig6
from papers.pan2017.fig6_run import fig6_run
from papers.pan2017.fig7 import fig7
from papers.pan2017.fig8 import fig8
from papers.pan2017.fig8_mnist import fig8_mnist
from papers.pan2017.table1 import table1
from papers.pan2017.updates import independent_of_b, updates
from reproduce.words import answers_of

TITLE = "Revisiting Distributed Synchronous SGD (Pan et al., 2017)"
LINK = "https://arxiv.org/abs/1702.05800"
QUESTION = (
    "Do a few backup workers, whose late gradients are dropped, make synchronous SGD faster and more accurate "
    "than asynchronous SGD?"
)
ANSWERS = answers_of("pan2017")
CAVEATS = [
    "The paper trains Inception on ImageNet on 50 to 212 machines. Its times are here drawn from a "
    "law that was fitted to what it tells of Figs 3 and 4, so that claims of those two figures "
    "show that the law is drawn as fitted; Fig 6 and what comes after follow from it. Its networks "
    "have stand-ins, which are named and show orderings, not levels.",
    "Where the paper is silent or inconsistent: 19 parameter servers in the text, 10 in the "
    "appendix (none modelled here); the split of 53, 106 and 212 machines in gradients and backups "
    "is from memory, as are all numbers of Tables 1 and 2; the updates of Fig 5 are known at N = "
    "50 and 100 only; the distribution of the staleness of Fig 2 is not given.",
    "Fig 6 of the paper is an estimate from a run without backups. In a run a learner that was "
    "late is likely to be late in the next step too, so that steps are longer and more backups "
    "pay: see the figure after it.",
    "TensorFlow's Fig 8 was measured on other machines than the paper's Fig 3: independent stragglers of "
    "probability 0.04, times from 1.85 s on with a Pareto tail of shape 8, were chosen so that three backups of 50 "
    "gain what they do there. With the crowds of the paper's Fig 3 a share (1 + 50 x 0.00456)^-3.2 = 0.52 of the "
    "steps of 50 workers has no straggler, so that backups could hardly shorten the median one. Fig 9, PixelCNN, "
    "is left out.",
    "On MNIST a quarter of the replicas choose for each protocol the rate of its lowest end, of six that differ by "
    "factors of 2, and the others judge. Async's rate halves each time the machines double; that of sync with "
    "backups stays up to 106 machines and halves at 212. Item 9 holds at these rates; at one rate, 0.0004 of each "
    "gradient, async ends lower by 0.0018 (se 0.0004) on 53 machines and by 0.0028 (se 0.0005) on 106. Item 10 is "
    "judged at both: at one rate async is first on 53 machines and sync with backups on 212; on 106 async is "
    "first at a test error of 8.5 %, the two are not told apart at 10 %, and sync with backups is ahead at 12 and "
    "15 %, by 2.8 and 2.9 standard errors, where the paper has it first. At the rates of the lowest ends sync with "
    "backups is first on 53 too. The task, mlp, momentum and work, was taken over from an earlier look at results.",
    "That a staleness of up to 15 is mild (11.mild) is judged at the best of four rates for each staleness, "
    "as the paper tuned them. At its rate 0.1 for all, the perceptron is worse by a factor of 8 at 15; the "
    "paper's network had 25 epochs and a ramp too.",
]

ABOUT = {
    1: "b = 0: no staleness, serial SGD with minibatches of N B",
    2: "b > 0: N gradients of the current version an update, late ones received and dropped",
    3: "the training depends on N, not on b",
    4: "Figs 3 and 4: when the k-th of 100 gradients is there",
    5: "Fig 5: updates until it converges against N",
    6: "Fig 6: estimated time until it converges, N + b = 100",
    7: "the same in a run: what backups save of the step",
    8: "TensorFlow's Fig 8: how many backups of 50 are worth their machines",
    9: "Fig 8: final errors and epoch times of sync with backups and async",
    10: "Fig 8: who converges first on 53, 106 and 212 machines",
    11: "Fig 2: error against staleness",
    12: "Table 2 and Fig 7: learning rates",
    13: "Table 1: staleness of async, layer by layer",
}

EXPERIMENTS = [
    (fig2, [11]),
    (fig2_quadratic, [11]),
    (ramp, [11]),
    (table1, [13]),
    (fig3_4, [4]),
    (fig5, [5]),
    (fig6, [6]),
    (fig6_run, [7, 2]),
    (fig7, [12]),
    (fig8, [9, 10]),
    (fig8_mnist, [9, 10]),
    (backups_of_50, [8]),
    (updates, [1, 2]),
    (independent_of_b, [3]),
    (fig2_cnn, [11]),
    (fig5_cnn, [5]),
    (fig7_cnn, [12]),
    (fig8_cnn, [9]),
]
