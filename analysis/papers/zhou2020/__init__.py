"""Figures and claims of "DaSGD: Squeezing SGD Parallelization Performance in Distributed Training
Using Delayed Averaging" (Zhou et al., arXiv 2006.00441), and of Local SGD."""

TITLE = "DaSGD: Local SGD with delayed averaging (Zhou et al., 2020)"
LINK = "https://arxiv.org/abs/2006.00441"
QUESTION = (
    "Can averages of Local SGD be delayed by a few steps, so that all communication is hidden, at little cost "
    "in accuracy?"
)

EXPERIMENTS = {
    "sync:one_step": ["1"],
    "sync:quadratic": ["1"],
    "local:speedup": ["2"],
    "local:waiting": ["2"],
    "local:drift": ["2"],
    "local:floor": ["2"],
    "rounds:rounds": ["3"],
    "rounds:lateness": ["3"],
    "scale:scale": ["3"],
    "scale:scale_with_nodes": ["3"],
    "merge:merge": ["4"],
    "merge:effective_steps": ["4"],
    "slope:slope": ["5"],
    "accuracy:mnist": ["6"],
    "accuracy:resnet": ["6.resnet"],
}
