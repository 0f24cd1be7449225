"""Figures and claims of "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
Server" (Ho, Cipar, Cui, Kim, Lee, Gibbons, Gibson, Ganger, Xing, NIPS 2013)."""

from papers.ho2013.best_bound import best_bound
from papers.ho2013.clocks import clocks, slow_learner
from papers.ho2013.ends import ends
from papers.ho2013.reads import reads, reads_beside_a_slow_learner
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Stale Synchronous Parallel parameter server (Ho et al., NIPS 2013)"
LINK = (
    "https://proceedings.neurips.cc/paper/2013/hash/b7bb35b9c6ca2aee2df08cf09d7016c2-Abstract.html"
)
QUESTION = (
    "How far ahead may fast learners run (the bound s) so that they make more updates a second without "
    "losing to staleness what they gain?"
)
ANSWERS = answers_of("ho2013")
CAVEATS = caveats_of("ho2013")
ABOUT = checklist_of("ho2013")

EXPERIMENTS = [
    (clocks, ["4", "5"]),
    (slow_learner, ["4", "5"]),
    (reads, ["1", "3", "7"]),
    (reads_beside_a_slow_learner, ["1", "3"]),
    (ends, ["2"]),
    (best_bound, ["6"]),
]
