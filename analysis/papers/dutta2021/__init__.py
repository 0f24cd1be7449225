"""Figures and claims of "Slow and Stale Gradients Can Win the Race" (Dutta, Wang, Joshi, IEEE
Journal on Selected Areas in Information Theory, 2021): AdaSync. What that paper repeats of Dutta et
al., 2018 is judged there."""

TITLE = "Slow and Stale Gradients Can Win the Race: AdaSync (Dutta, Wang, Joshi, JSAIT 2021)"
LINK = "https://arxiv.org/abs/2003.10579"
QUESTION = (
    "Does a K that grows while the loss falls, chosen by the bound on the error (AdaSync), combine the "
    "quick start of a small K with the low floor of a large one?"
)

EXPERIMENTS = {
    "rule:choices": ["20"],
    "recursion:k_sync": ["21"],
    "recursion:batch_sync": ["21"],
    "races:quadratic": ["22"],
    "races:mnist": ["22"],
    "rates:mnist_rates": ["22"],
    "races:grey_cifar10": ["22"],
    "races:cifar10_cnn": ["22.CNN-on-CIFAR-10"],
}
