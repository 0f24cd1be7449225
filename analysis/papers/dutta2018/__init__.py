"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Joshi, Ghosh, Dube,
Nagpurkar, AISTATS 2018) and its supplement. The tables beside the figures are what is plotted in
the paper."""

TITLE = "Slow and Stale Gradients Can Win the Race (Dutta et al., AISTATS 2018)"
LINK = "https://arxiv.org/abs/1803.01113"
QUESTION = (
    "Is it better to wait for slow learners, so that gradients are fresh, or to go on with stale ones, "
    "when what counts is the error against time and not against iterations?"
)

EXPERIMENTS = {
    "fig3:timelines": ["6"],
    "fig5:fig5": ["8"],
    "fig5:fig5_cold": ["8"],
    "fig6:fig6_long": ["9", "5"],
    "fig6:fig6_cold": ["9"],
    "updates_of_eight:updates_of_eight": ["1", "2", "3", "4", "5", "6", "7", "10"],
    "fig7:fig7": ["11"],
    "floors:floors": ["12", "13"],
    "fig8:fig8": ["14"],
    "fig9:fig9": ["15"],
    "fig10:fig10": ["16"],
    "fig11_12:fig11": ["17"],
    "fig11_12:fig12": ["18"],
    "fig14:fig14": ["19"],
}
