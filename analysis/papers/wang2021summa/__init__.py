"""Figures and claims of "Tesseract: Parallelize the Tensor Parallelism Efficiently" (Wang, Xu, Bian, You, ICPP 2022; arXiv 2105.14500,
SUMMA2.5-LM) and of what it is compared with, Megatron-LM (1-d) and Optimus (2-d, arXiv 2104.05343)."""

from reproduce.paper import words_of

claim, figure_of = words_of("wang2021summa")
