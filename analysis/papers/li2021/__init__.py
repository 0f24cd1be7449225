"""Figures and claims of "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
Learning" (Li, Mangoubi, Xu, Guo, ICDCS 2021)."""

from papers.li2021.accuracy import orders, orders_at_half_the_rate, shares_1, shares_2
from papers.li2021.along import at_the_switch, behind_and_ahead
from papers.li2021.detours import detours
from papers.li2021.divergence import divergence, limits
from papers.li2021.momentum import momentum, momentum_at_its_own_rate
from papers.li2021.overhead import overhead
from papers.li2021.policies import updates_made
from papers.li2021.rates import rates
from papers.li2021.resnets import resnets
from papers.li2021.search import search
from papers.li2021.stragglers import latency, savings
from papers.li2021.throughput import throughput, time_line, variation
from papers.li2021.time_to_accuracy import time_to_accuracy
from papers.li2021.times import times
from reproduce.words import answers_of, caveats_of, checklist_of

TITLE = "Sync-Switch: when to go from BSP to ASP (Li, Mangoubi, Xu, Guo, ICDCS 2021)"
LINK = "https://arxiv.org/abs/2104.08364"
QUESTION = (
    "When should training go from synchronous (BSP) to asynchronous (ASP) updates, so that it keeps BSP's "
    "accuracy and most of ASP's speed?"
)
ANSWERS = answers_of("li2021")
CAVEATS = caveats_of("li2021")
ABOUT = checklist_of("li2021")

EXPERIMENTS = [
    (times, ["T1", "T3", "T4", "T5"]),
    (throughput, ["T2"]),
    (time_to_accuracy, ["T6"]),
    (variation, ["T7"]),
    (time_line, ["T8"]),
    (shares_1, ["A1", "A2", "A5"]),
    (shares_2, ["A1", "A2", "A5"]),
    (divergence, ["A3"]),
    (limits, ["A3"]),
    (orders, ["A4"]),
    (orders_at_half_the_rate, ["A4"]),
    (behind_and_ahead, ["A6"]),
    (at_the_switch, ["A7"]),
    (momentum, ["A8"]),
    (momentum_at_its_own_rate, ["A8"]),
    (rates, ["A9"]),
    (resnets, ["A1", "A3", "A4", "A8", "S3"]),
    (search, ["B1", "B2", "B3", "B4"]),
    (latency, ["S1"]),
    (savings, ["S2", "S4", "S5"]),
    (detours, ["S3"]),
    (updates_made, ["S5", "S6"]),
    (overhead, ["O1", "O2"]),
]
