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
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Revisiting Distributed Synchronous SGD (Pan et al., 2017)"
LINK = "https://arxiv.org/abs/1702.05800"
QUESTION = (
    "Do a few backup workers, whose late gradients are dropped, make synchronous SGD faster and more accurate "
    "than asynchronous SGD?"
)
ANSWERS = answers_of("pan2017")
CAVEATS = caveats_of("pan2017")
ABOUT = checklist_of("pan2017")

EXPERIMENTS = [
    (fig2, ["11"]),
    (fig2_quadratic, ["11"]),
    (ramp, ["11"]),
    (table1, ["13"]),
    (fig3_4, ["4"]),
    (fig5, ["5"]),
    (fig6, ["6"]),
    (fig6_run, ["7", "2"]),
    (fig7, ["12"]),
    (fig8, ["9", "10"]),
    (fig8_mnist, ["9", "10"]),
    (backups_of_50, ["8"]),
    (updates, ["1", "2"]),
    (independent_of_b, ["3"]),
    (fig2_cnn, ["11"]),
    (fig5_cnn, ["5"]),
    (fig7_cnn, ["12"]),
    (fig8_cnn, ["9"]),
]
