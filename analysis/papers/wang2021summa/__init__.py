"""Figures and claims of "Tesseract: Parallelize the Tensor Parallelism Efficiently" (Wang, Xu, Bian, You, ICPP 2022; arXiv 2105.14500,
SUMMA2.5-LM) and of what it is compared with, Megatron-LM (1-d) and Optimus (2-d, arXiv 2104.05343)."""

TITLE = "SUMMA2.5: learners that are groups of devices (Wang et al., 2021)"
LINK = "https://arxiv.org/abs/2105.14500"
QUESTION = (
    "A learner is a group of devices with tensor parallelism. What do they exchange in a row (1-d), in a square (2-d) and in several "
    "layers of squares (2.5-d), and which is fastest?"
)
HEAD = (
    "The paper was not read: its abstract and public descriptions and code of the three parallelisms are what is known. Of its numbers "
    "two are claimed, how much faster 64 devices are with 2.5-d than with 1-d, to which one constant is fitted, and with 2-d, which is predicted."
)

EXPERIMENTS = {
    "volumes:products": ["1"],
    "volumes:identities": ["2"],
    "volumes:volumes": ["3"],
    "speeds:strong": ["4"],
    "speeds:weak": ["5"],
    "speeds:depth": ["6"],
    "speeds:learners": ["7"],
}
