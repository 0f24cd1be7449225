"""Figures and claims of "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent" (Das et al., arXiv
1602.06709)."""

TITLE = "How synchronous SGD scales: balance equations (Das et al., 2016)"
LINK = "https://arxiv.org/abs/1602.06709"
QUESTION = (
    "How many nodes does synchronous SGD with one large minibatch use well, if layers are exchanged while the rest is "
    "computed, and dense ones are divided among nodes?"
)
HEAD = (
    "Of the paper its abstract is known: its speed-ups are what is claimed. Rates of single nodes are from memory, and "
    "one number, what a step takes longer for each node, is fitted to one of the speed-ups."
)

EXPERIMENTS = {
    "divided:dense": ["1", "2"],
    "scale:aries": ["3", "4"],
    "scale:ethernet": ["4", "5"],
    "scale:overlap": ["6"],
}
