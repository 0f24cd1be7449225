"""Figures and claims of "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
Learning" (Li, Mangoubi, Xu, Guo, ICDCS 2021)."""

from papers.li2021.times import times

TITLE = "Sync-Switch: when to go from BSP to ASP (Li, Mangoubi, Xu, Guo, ICDCS 2021)"
# On the page, above the figures.
NOTES = [
    "Times are those of a model with four numbers a setup (mean and variation of a minibatch, the "
    "serial part of a synchronous step, a checkpoint), fitted to the authors' released logs.",
]

# The checklist: what its items are about.
ABOUT = {
    3: "time against the share of the work that is done in BSP (T3)",
    4: "speed-up of Sync-Switch over BSP (T4)",
}

# (function, the items of the checklist that it judges), in the order of the page.
EXPERIMENTS = [(times, [3, 4])]
