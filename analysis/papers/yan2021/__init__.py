"""Figures and claims of "DQ-SGD: Dynamic Quantization in SGD for Communication-Efficient Distributed
Learning" (Yan, Huang, Lan, Song, arXiv 2107.14575)."""

TITLE = "DQ-SGD: bits chosen step by step (Yan et al., 2021)"
LINK = "https://arxiv.org/abs/2107.14575"
QUESTION = (
    "Gradients are rounded to few bits before they are sent. Do fewer bits do where their number is chosen step by "
    "step, by the norm of the gradient and the steps that are left?"
)
HEAD = (
    "Of the paper its abstract and its rule are known, and none of its tables or curves: what follows from the rule is "
    "claimed, and of training an order."
)

EXPERIMENTS = {
    "messages:error": ["1", "3"],
    "messages:cost": ["2"],
    "messages:many_levels": ["6"],
    "bound:bound": ["3"],
    "schedule:saving": ["4", "5"],
    "schedule:shapes": ["5"],
    "races:mnist": ["4", "7"],
    "races:cifar10": ["4", "7"],
}
