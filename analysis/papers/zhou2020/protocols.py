"""What is swept: sync, Local SGD and DaSGD, as one protocol with a round, a delay and a share xi."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    kind: str
    tau: int = 1  # steps in a round
    delay: int = 0  # steps of the next round before its average is taken in
    xi: float = 0.0  # what is left of the own value then

    @property
    def name(self):
        if self.kind == "all-reduce":
            return "sync"
        if self.kind == "local-sgd":
            return f"Local, tau = {self.tau}"
        return f"DaSGD, d = {self.delay}"

    def round_time(self, step, average):
        """tau T_c + max(0, T_s - d T_c)."""
        return self.tau * step + max(0.0, average - self.delay * step)

    def effective_steps(self):
        """Of the tau steps of a round, those that move the mean for good."""
        return self.tau - (1 - self.xi) * self.delay


def protocol_of(row):
    """The Protocol of a row of runs.csv."""
    protocol = row["sweep.protocol"]
    kind = protocol["kind"]
    if kind != "dasgd":
        return Protocol(kind, protocol.get("tau", 1))
    return Protocol(kind, *(protocol.get(key, one) for key, one in DEFAULTS.items()))


DEFAULTS = {"tau": 4, "delay": 1, "xi": 0.25}


def measured_round(protocol, row, step):
    """The time of a round in which an average is waited for, of a run whose minibatches all take
    `step`. Sync waits in each. The others do not wait for the last average, nor, where the delay is
    a whole round, for the one before: a wait comes after the step."""
    rounds = row["updates"] // protocol.tau
    without = 0 if protocol.kind == "all-reduce" else 1 + (protocol.delay == protocol.tau)
    return (row["sim_time"] - without * protocol.tau * step) / (rounds - without)
