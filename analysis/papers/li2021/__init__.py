"""Figures and claims of "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
Learning" (Li, Mangoubi, Xu, Guo, ICDCS 2021)."""

from reproduce.paper import words_of

claim, figure_of = words_of("li2021")
