"""Figures and claims of "Hemingway: Modeling Distributed Optimization Algorithms" (Pan, Venkataraman, Tai, Gonzalez, arXiv
1702.05865)."""

TITLE = "Hemingway: which algorithm, on how many machines? (Pan et al., 2016)"
LINK = "https://arxiv.org/abs/1702.05865"
QUESTION = (
    "More machines make a round shorter and rounds more. Do a model of the time of a round and one of what rounds "
    "achieve tell which algorithm is first at a loss, and on how many machines?"
)
HEAD = (
    "Of the paper its abstract was read, and code of its authors; what is known of its figures is from memory, and shown, not "
    "judged. Data are synthetic, in place of MNIST. That the choice is near the best on new clusters is shown elsewhere "
    "(tests/sim/cli/advise_clusters_test.py)."
)

EXPERIMENTS = {
    "system:times": ["1", "2"],
    "convergence:rounds": ["3"],
    "convergence:foretold": ["4"],
    "convergence:choice": ["5"],
}
