"""Figures and claims of "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
Server" (Ho, Cipar, Cui, Kim, Lee, Gibbons, Gibson, Ganger, Xing, NIPS 2013)."""

TITLE = "Stale Synchronous Parallel parameter server (Ho et al., NIPS 2013)"
LINK = (
    "https://proceedings.neurips.cc/paper/2013/hash/b7bb35b9c6ca2aee2df08cf09d7016c2-Abstract.html"
)
QUESTION = (
    "How far ahead may fast learners run (the bound s) so that they make more updates a second without "
    "losing to staleness what they gain?"
)

EXPERIMENTS = {
    "clocks:clocks": ["4", "5"],
    "clocks:slow_learner": ["4", "5"],
    "reads:reads": ["1", "3", "7"],
    "reads:reads_beside_a_slow_learner": ["1", "3"],
    "ends:ends": ["2"],
    "best_bound:best_bound": ["6"],
}
