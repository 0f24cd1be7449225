"""Figures and claims of "Sync-Switch: Hybrid Parameter Synchronization for Distributed Deep
Learning" (Li, Mangoubi, Xu, Guo, ICDCS 2021)."""

TITLE = "Sync-Switch: when to go from BSP to ASP (Li, Mangoubi, Xu, Guo, ICDCS 2021)"
LINK = "https://arxiv.org/abs/2104.08364"
QUESTION = (
    "When should training go from synchronous (BSP) to asynchronous (ASP) updates, so that it keeps BSP's "
    "accuracy and most of ASP's speed?"
)

EXPERIMENTS = {
    "times:times": ["T1", "T3", "T4", "T5"],
    "throughput:throughput": ["T2"],
    "time_to_accuracy:time_to_accuracy": ["T6"],
    "throughput:variation": ["T7"],
    "throughput:time_line": ["T8"],
    "accuracy:shares_1": ["A1", "A2", "A5"],
    "accuracy:shares_2": ["A1", "A2", "A5"],
    "divergence:divergence": ["A3"],
    "divergence:limits": ["A3"],
    "accuracy:orders": ["A4"],
    "accuracy:orders_at_half_the_rate": ["A4"],
    "along:behind_and_ahead": ["A6"],
    "along:at_the_switch": ["A7"],
    "momentum:momentum": ["A8"],
    "momentum:momentum_at_its_own_rate": ["A8"],
    "rates:rates": ["A9"],
    "resnets:setup_1": ["A1.resnet-1", "A1.resnet-1.above-ASP", "A4.resnet"],
    "resnets:orders": ["A4.orders-BSP-first", "A4.orders-ASP-first", "A4.orders-as-ASP"],
    "resnets:setup_2": ["A1.resnet-2", "A1.resnet-2.above-ASP"],
    "resnets:fails": ["A3.resnet"],
    "resnets:momenta": ["A8.resnet"],
    "resnets:policies": ["S3.resnet"],
    "search:search": ["B1", "B2", "B3", "B4"],
    "stragglers:latency": ["S1"],
    "stragglers:savings": ["S2", "S4", "S5"],
    "detours:detours": ["S3"],
    "policies:updates_made": ["S5", "S6"],
    "overhead:overhead": ["O1", "O2"],
}
