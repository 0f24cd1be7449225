"""Figures and claims of "DaSGD: Squeezing SGD Parallelization Performance in Distributed Training
Using Delayed Averaging" (Zhou et al., arXiv 2006.00441), and of Local SGD."""

from papers.zhou2020.accuracy import mnist, resnet
from papers.zhou2020.local import drift, floor, speedup, waiting
from papers.zhou2020.merge import effective_steps, merge
from papers.zhou2020.rounds import lateness, rounds
from papers.zhou2020.scale import scale, scale_with_nodes
from papers.zhou2020.slope import slope
from papers.zhou2020.sync import one_step, quadratic
from reproduce.words import answers_of

TITLE = "DaSGD: Local SGD with delayed averaging (Zhou et al., 2020)"
LINK = "https://arxiv.org/abs/2006.00441"
QUESTION = (
    "Can averages of Local SGD be delayed by a few steps, so that all communication is hidden, at little cost "
    "in accuracy?"
)
ANSWERS = answers_of("zhou2020")
CAVEATS = [
    "The paper could not be read in full: its abstract, and the authors' two programs for training "
    "and for times, are what is known. Its tables of accuracies, its curves on ImageNet and its "
    "plot of scale-up were not recovered, so there are no plotted values to compare with. What "
    "follows from the update and from the times of its parts is claimed; of accuracies, orderings.",
    "T_c is the time of a minibatch, T_s that of an average. T_c and the time of a link for NiN, "
    "VGG-16 and AlexNet v2 come from running the authors' modified PALEO (V100, 70 Gb/s, minibatch "
    "128). Its tree with eight workers to a node is an exchange of the same length here: the "
    "topology nodes has no collective that is a tree within nodes and another between them.",
    "Local SGD with tau = 1 is sync to rounding and not bit for bit: the average of moved models "
    "is another sum than a move by the average gradient.",
    "The merge throws away a share 1 - xi of the last d steps, so a hidden average is not free: to "
    "get from far away as near as Local SGD, DaSGD with xi = 0.25 takes tau / (tau - 0.75 d) times "
    "the steps, 1.23 with d = 1 and 4 with d = tau = 4, at one rate. On MNIST with T_s = 4 T_c it is "
    "first all the same, but to 10 % of test error not by more than chance, and in the quick form's "
    "short run Local SGD has no more error than DaSGD with d = tau when that is done.",
    "On a quadratic the mean of Local SGD's values has sync's floor whatever tau is; that the floor "
    "rises with tau is shown with softmax, at a rate large enough for the curvature to change.",
    "A small perceptron on MNIST with 8 learners stands in for the paper's deep networks with 32; "
    "ResNet-20 on CIFAR-10 is a scenario that takes a GPU.",
]

ABOUT = {
    1: "tau = 1 is sync, and the mean of Local SGD follows it on a quadratic",
    2: "what an average every tau steps saves in time and costs in error",
    3: "DaSGD: time of a round, what is hidden, scale-up to 256 workers",
    4: "what the merge does to the mean, and how many steps count",
    5: "mean squared gradient against K at a rate of K^-1/2",
    6: "accuracy at equal epochs, and who is first",
}

EXPERIMENTS = [
    (one_step, [1]),
    (quadratic, [1]),
    (speedup, [2]),
    (waiting, [2]),
    (drift, [2]),
    (floor, [2]),
    (rounds, [3]),
    (lateness, [3]),
    (scale, [3]),
    (scale_with_nodes, [3]),
    (merge, [4]),
    (effective_steps, [4]),
    (slope, [5]),
    (mnist, [6]),
    (resnet, [6]),
]
