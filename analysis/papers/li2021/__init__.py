"""Figures and claims of "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
Learning" (Li, Mangoubi, Xu, Guo, ICDCS 2021)."""

from papers.caveats import caveats_of
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
from reproduce.words import answers_of

TITLE = "Sync-Switch: when to go from BSP to ASP (Li, Mangoubi, Xu, Guo, ICDCS 2021)"
LINK = "https://arxiv.org/abs/2104.08364"
QUESTION = (
    "When should training go from synchronous (BSP) to asynchronous (ASP) updates, so that it keeps BSP's "
    "accuracy and most of ASP's speed?"
)
ANSWERS = answers_of("li2021")
CAVEATS = caveats_of("li2021")

# The checklist: times, accuracies, the binary search, stragglers, overhead.
ABOUT = {
    "T1": "throughput of ASP over that of BSP",
    "T2": "images a second against the number of workers",
    "T3": "time against the share of the work that is done in BSP",
    "T4": "speed-up of Sync-Switch over BSP",
    "T5": "time of Sync-Switch over that of ASP",
    "T6": "time to accuracy",
    "T7": "how much times vary",
    "T8": "throughput against time: one step up at the switch",
    "A1": "converged accuracy: BSP and Sync-Switch above ASP",
    "A2": "ASP varies most from run to run",
    "A3": "ASP diverges on 16 workers, Sync-Switch at 50 % does not",
    "A4": "the order matters: BSP first",
    "A5": "the knee of accuracy against the share of BSP",
    "A6": "ASP is behind at equal work; who is ahead at equal time",
    "A7": "the loss jumps at the switch, and the gap closes",
    "A8": "momentum after the switch",
    "A9": "the learning rate follows the minibatch",
    "B1": "the path of the binary search",
    "B2": "what the search costs, and when it has paid",
    "B3": "how often the search finds the switch point",
    "B4": "the search pays later where a job saves less",
    "S1": "latency slows BSP more than ASP",
    "S2": "what online policies save",
    "S3": "what online policies cost in accuracy",
    "S4": "elastic takes as long whatever the stragglers",
    "S5": "greedy switches three times",
    "S6": "every policy does all of the work, and all of BSP's",
    "O1": "the share of a run that the switch takes",
    "O2": "times with and without the cost of the switch",
}

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
