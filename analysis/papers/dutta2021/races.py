"""AdaSync against K = 2, 4 and 8 in training: what the paper trained, and what stands in for it."""

import numpy as np
from papers.dutta2021 import claim, figure_of
from reproduce.claims import paired_difference, sample
from reproduce.figures import curve_series
from reproduce.replicas import first_at, late, mean_curve

KS = (2, 4, 8)
K0 = 2
END = 0.1  # the last tenth of the time
LEAST = 2.06  # what the scenario says of grey CIFAR-10


def runner(row):
    """(variant, K or None of AdaSync, least loss)."""
    protocol = row["sweep.protocol"]
    least = protocol.get("least_loss", 0)
    return protocol.get("variant", protocol["kind"]), protocol.get("k"), least


def nearest(value, of_k):
    """The K whose number is nearest on a logarithmic scale; None where two are, NaN is farthest."""
    distance = {k: abs(np.log(of_k[k] / value)) for k in of_k}
    first, second, *_ = sorted(distance, key=lambda k: (np.isnan(distance[k]), distance[k]))
    return first if distance[first] != distance[second] else None


class Race:
    """AdaSync and fixed K of one variant on one task."""

    def __init__(self, outputs, scenario, id, task, variant, least=0):
        self.id = f"22.{id}-{variant}"
        losses = outputs.curves(scenario, runner, "time", "loss")
        self.adaptive = losses[variant, None, least]
        self.fixed = {k: losses[variant, k, 0] for k in KS}
        self.k = outputs.curves(scenario, runner, "time", "k")[variant, None, least]
        self.ends = {k: late(found, END) for k, found in self.fixed.items()}
        self.end = late(self.adaptive, END)
        self.words = f"{task}, {variant}, K0 = {K0}"

    def figure(self, note, log_y=False):
        figure = figure_of("race-{id}", id=self.id[3:], words=self.words, note=note)
        figure.log_y = log_y
        figure.series.append(curve_series("AdaSync", self.adaptive))
        figure.series += [curve_series(f"K = {k}", found) for k, found in self.fixed.items()]
        return figure

    def early(self):
        """Half-way from the start to the lowest end of a fixed K."""
        start = self.adaptive[0][1][0]
        level = (start + min(end.mean for end in self.ends.values())) / 2
        times = {k: first_at(*mean_curve(found), level) for k, found in self.fixed.items()}
        ours = first_at(*mean_curve(self.adaptive), level)
        is_same = " (it is K0's run itself: K has not changed yet)" if ours == times[K0] else ""
        return claim(f"{self.id}-early").holds(
            nearest(ours, times) == K0,
            f"{ours:.3g}; "
            + ", ".join(f"K = {k}: {time:.3g}" for k, time in times.items())
            + is_same,
        )

    def below_k0(self):
        return claim(f"{self.id}-below-k0").above(paired_difference(self.ends[K0], self.end))

    def late_nearest(self):
        ends = {k: end.mean for k, end in self.ends.items()}
        return claim(f"{self.id}-late").holds(
            nearest(self.end.mean, ends) == KS[-1],
            f"{self.end}; " + ", ".join(f"K = {k}: {end:.4g}" for k, end in ends.items()),
        )

    def late_best(self):
        """Beside the K at which AdaSync is itself by then there is nothing to compare."""
        others = {k: end for k, end in self.ends.items() if k != late(self.k, END).mean}
        told = ", ".join(map(str, others))
        return claim(f"{self.id}-late", others=told).ordered(
            (f"K = {k}", self.end, end) for k, end in others.items()
        )

    def k_rises(self):
        first = sample([k[0] for _, k in self.k])
        last = late(self.k, END)
        return claim(f"{self.id}-k").above(
            paired_difference(last, first), told=f"{last}, from {first}"
        )


def judged(outputs, scenario, id, task, late, note="", least=0, log_y=False):
    """Figures and claims of both variants on a task; late: how their ends are judged."""
    races = [Race(outputs, scenario, id, task, variant, least) for variant in ("k-sync", "k-async")]
    claims = (Race.early, Race.below_k0, late, Race.k_rises)
    figures = [race.figure(note, log_y) for race in races]
    return figures, [judge(race) for race in races for judge in claims]


def quadratic(outputs):
    scenario = "does_adasync_win_on_a_quadratic"
    task = "quadratic, m = 32, eta = 0.12 (stands in for the CNN)"
    return judged(outputs, scenario, "quadratic", task, Race.late_nearest, log_y=True)


def mnist(outputs):
    task = "MNIST, softmax (stands in for the CNN)"
    note = "F* is taken as 0: the loss falls by no more than a factor of 7, so K stays at 4."
    return judged(outputs, "does_adasync_win_on_mnist", "MNIST", task, Race.late_best, note)


def grey_cifar10(outputs):
    scenario = "does_adasync_win_on_grey_cifar10"
    task = "grey CIFAR-10, softmax on 2,000 rows (stands in for the CNN)"
    note = f"The rule is given F* = {LEAST:g}."
    figures, claims = judged(outputs, scenario, "grey-CIFAR-10", task, Race.late_best, note, LEAST)
    paper = outputs.curves(scenario, runner, "time", "k")["k-sync", None, 0]
    highest = max(k.max() for _, k in paper)
    claims.append(
        claim("22.grey-CIFAR-10-least-loss").holds(
            highest == K0 and min(k.min() for _, k in paper) == K0, f"K at most {highest:g}"
        )
    )
    return figures, claims


def cifar10_cnn(outputs):
    """The full form, judged as the quadratic is."""
    task = "CNN on CIFAR-10, m = 32, eta = 0.12"
    scenario, id = "gpu/does_adasync_win_on_cifar10", "CNN-on-CIFAR-10"
    return judged(outputs, scenario, id, task, Race.late_nearest)
