"""The machine during a measurement: one core for all contestants, and who else uses it."""

import os
import platform
import time
from dataclasses import dataclass

TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
# A measurement is busy above these: shares of the core taken by others, of the other cores (a shared
# cache, a common clock), and of a fixed loop's time above its least.
OTHERS, ELSEWHERE, YARDSTICK = 0.03, 0.15, 0.08


def name():
    """The processor, its generation where the system says it, and the number of cores."""
    known = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                key, _, value = line.partition(":")
                known.setdefault(key.strip(), " ".join(value.split()))
    except OSError:
        pass
    name = known.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in known:
        name += f" (family {known['cpu family']}, model {known.get('model')})"
    return f"{name}, {os.cpu_count()} cores"


def load_average():
    """Of the last minute; 0 where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def pin(core):
    """Binds this process and its future children to a core, None: the last one allowed; returns it,
    or None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {core})
    return core


def yardstick():
    """Least seconds of a fixed loop: longer where the clock is low or a neighbour shares the core."""
    least = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(100_000):
            pass
        least = min(least, time.perf_counter() - begin)
    return least


def ticks():
    """{core: (in use, stolen)} since the start of the system; {} where it does not say."""
    found = {}
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if words[0].startswith("cpu") and words[0] != "cpu":
                    user, nice, system, _, _, irq, softirq, steal = map(int, words[1:9])
                    in_use = user + nice + system + irq + softirq
                    found[int(words[0][3:])] = in_use, steal
    except (OSError, ValueError):
        pass
    return found


@dataclass
class Seen:
    """Shares of wall time: of the core taken by other processes, by the host (steal), of the other
    cores in use; the yardstick in seconds."""

    others: float
    steal: float
    elsewhere: float
    yardstick: float


class Watch:
    """What happens on the machine between its making and seen()."""

    def __init__(self, core):
        self.core, self.begin = core, time.perf_counter()
        self.before, self.own = ticks(), own_processor_seconds()

    def seen(self, contestant_seconds):
        """contestant_seconds: processor time that a process still running has used meanwhile."""
        passed = max(time.perf_counter() - self.begin, 1 / TICK)
        own = own_processor_seconds() - self.own + contestant_seconds
        after = ticks()
        used = {c: after[c][0] - self.before[c][0] for c in after if c in self.before}
        stolen = after[self.core][1] - self.before[self.core][1] if self.core in used else 0
        others = max(0.0, used[self.core] / TICK - own) if self.core in used else 0.0
        rest = [ticks_used / TICK for c, ticks_used in used.items() if c != self.core]
        elsewhere = sum(rest) / len(rest) if rest else 0.0
        return Seen(others / passed, stolen / TICK / passed, elsewhere / passed, yardstick())


def own_processor_seconds():
    """Of this process and those that it has waited for."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def is_busy(seen, least_yardstick, shortest=0.0):
    """shortest: seconds of the measurement; a tick more or less is no one's."""
    slack = 2 / TICK / shortest if shortest else 0.0
    return (
        seen.others > OTHERS + slack
        or seen.steal > OTHERS + slack
        or seen.elsewhere > ELSEWHERE + slack
        or seen.yardstick > (1 + YARDSTICK) * least_yardstick
    )
