"""Figures and claims of "Revisiting Distributed Synchronous SGD" (Pan, Chen, Monga, Bengio,
Jozefowicz, arXiv 1702.05800, 2017; the same as Chen et al., arXiv 1604.00981)."""

TITLE = "Revisiting Distributed Synchronous SGD (Pan et al., 2017)"
LINK = "https://arxiv.org/abs/1702.05800"
QUESTION = (
    "Do a few backup workers, whose late gradients are dropped, make synchronous SGD faster and more accurate "
    "than asynchronous SGD?"
)

EXPERIMENTS = {
    "fig2:fig2": ["11"],
    "fig2:fig2_quadratic": ["11"],
    "fig2:ramp": ["11"],
    "table1:table1": ["13"],
    "fig3_4:fig3_4": ["4"],
    "fig5:fig5": ["5"],
    "fig6:fig6": ["6"],
    "fig6_run:fig6_run": ["7", "2"],
    "fig7:fig7": ["12"],
    "fig8:fig8": ["9", "10"],
    "fig8_mnist:fig8_mnist": ["9", "10"],
    "backups_of_50:backups_of_50": ["8"],
    "updates:updates": ["1", "2"],
    "updates:independent_of_b": ["3"],
    "cnn:fig2_cnn": ["11.cnn"],
    "cnn:fig5_cnn": ["5.cnn"],
    "cnn:fig7_cnn": ["12.cnn"],
    "cnn:fig8_cnn": ["9.cnn"],
}
