"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Joshi, Ghosh, Dube,
Nagpurkar, AISTATS 2018) and its supplement. The tables beside the figures are what is plotted in
the paper."""

from papers.dutta2018.fig3 import timelines
from papers.dutta2018.fig5 import fig5, fig5_cold
from papers.dutta2018.fig6 import fig6_cold, fig6_long
from papers.dutta2018.fig7 import fig7
from papers.dutta2018.fig8 import fig8
from papers.dutta2018.fig9 import fig9
from papers.dutta2018.fig10 import fig10
from papers.dutta2018.fig11_12 import fig11, fig12
from papers.dutta2018.fig14 import fig14
from papers.dutta2018.floors import floors
from papers.dutta2018.updates_of_eight import updates_of_eight
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Slow and Stale Gradients Can Win the Race (Dutta et al., AISTATS 2018)"
LINK = "https://arxiv.org/abs/1803.01113"
QUESTION = (
    "Is it better to wait for slow learners, so that gradients are fresh, or to go on with stale ones, "
    "when what counts is the error against time and not against iterations?"
)
ANSWERS = answers_of("dutta2018")
CAVEATS = caveats_of("dutta2018")
ABOUT = checklist_of("dutta2018")

EXPERIMENTS = [
    (timelines, ["6"]),
    (fig5, ["8"]),
    (fig5_cold, ["8"]),
    (fig6_long, ["9", "5"]),
    (fig6_cold, ["9"]),
    (updates_of_eight, ["1", "2", "3", "4", "5", "6", "7", "10"]),
    (fig7, ["11"]),
    (floors, ["12", "13"]),
    (fig8, ["14"]),
    (fig9, ["15"]),
    (fig10, ["16"]),
    (fig11, ["17"]),
    (fig12, ["18"]),
    (fig14, ["19"]),
]
