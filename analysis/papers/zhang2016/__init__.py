"""Figures and claims of "Staleness-aware Async-SGD for Distributed Deep Learning" (Zhang, Gupta,
Lian, Liu, IJCAI 2016), and orderings of its companion (Gupta, Zhang, Wang, ICDM 2016)."""

TITLE = "Staleness-aware Async-SGD for Distributed Deep Learning (Zhang et al., IJCAI 2016)"
LINK = "https://arxiv.org/abs/1511.05950"
QUESTION = (
    "How stale are the gradients of n-softsync, and does a learning rate divided by the staleness keep the "
    "accuracy of synchronous SGD?"
)

EXPERIMENTS = {
    "fig1:fig1": ["4"],
    "fig1:fig1_in_step": ["4"],
    "averages:averages": ["1", "3"],
    "averages:updates": ["2"],
    "fig2:fig2": ["8"],
    "jitter:jitter": ["8"],
    "fig3_quadratic:fig3_quadratic": ["1", "5", "6", "7"],
    "fig3_mnist:fig3_softmax": ["5", "6"],
    "fig3_rates:fig3_rates": ["5"],
    "fig3_mnist:fig3_perceptron": ["5"],
    "fig3_rates:fig3_perceptron_rates": ["5"],
    "fig3_mnist:fig3_cnn": ["5.cnn"],
    "fig3_quadratic:serial": ["1"],
    "epochs:epochs": ["9"],
    "trade_off:trade_off": ["10"],
    "trade_off_rates:trade_off_rates": ["10"],
    "overlap:overlap": ["11"],
}
