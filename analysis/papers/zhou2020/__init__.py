"""Figures and claims of "DaSGD: Squeezing SGD Parallelization Performance in Distributed Training
Using Delayed Averaging" (Zhou et al., arXiv 2006.00441), and of Local SGD."""

from papers.zhou2020.accuracy import mnist, resnet
from papers.zhou2020.local import drift, floor, speedup, waiting
from papers.zhou2020.merge import effective_steps, merge
from papers.zhou2020.rounds import lateness, rounds
from papers.zhou2020.scale import scale, scale_with_nodes
from papers.zhou2020.slope import slope
from papers.zhou2020.sync import one_step, quadratic

TITLE = "DaSGD: Local SGD with delayed averaging (Zhou et al., 2020)"
LINK = "https://arxiv.org/abs/2006.00441"
QUESTION = (
    "Can averages of Local SGD be delayed by a few steps, so that all communication is hidden, at little cost "
    "in accuracy?"
)
ANSWERS = {
    "mean": "On a quadratic the mean of Local SGD's learners follows sync, whatever tau is.",
    "speedup": "Local SGD's steps are (1 + r) / (1 + r / tau) times as fast as sync's, which stays below 1 + r.",
    "waiting": "Where times are random, learners wait less for each other the longer the time between averages.",
    "drift": "Learners drift apart between averages as the closed form says.",
    "disagreement": "The disagreement at the end of a round rises with tau as the closed form says.",
    "floor": "At a large rate the loss that is left rises with tau.",
    "round": "A round takes tau T_c + max(0, T_s - d T_c): a delay of T_s / T_c steps hides the average.",
    "computing": "With enough delay learners always compute; with less they sometimes wait.",
    "lateness": "A longer delay also takes waiting for the slowest away.",
    "scale_nin_flat": "DaSGD with d = 1 scales linearly to 256 workers, where sync keeps 63 %.",
    "scale_alexnet_flat": "DaSGD scales linearly to 256 workers from d = 4 on, where sync keeps 20 %.",
    "scale_nin_nodes": "DaSGD with d = 1 scales linearly to 256 workers, where sync keeps 73 %.",
    "scale_alexnet_nodes": "DaSGD scales linearly to 256 workers from d = 3 on, where sync keeps 28 %.",
    "merge": "The mean follows xi w + (1 - xi) average, so that a merge throws away a share 1 - xi of the last d "
    "steps.",
    "delayed_loss": "A longer delay learns more slowly and ends lower, as the second moments say.",
    "effective_steps": "Of the four steps of a round 4 - 0.75 d count at xi = 0.25: a hidden average is not free.",
    "slope": "The mean squared gradient falls as K^-1/2 once K is large; with the longest delay it gets there "
    "later.",
    "mnist_epochs": "At equal epochs sync has no more error than Local SGD, and that no more than DaSGD; none is "
    "more than a few points behind.",
    "mnist_time": "Against time DaSGD comes to the targets first and sync last.",
}
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
