"""Figures and claims of "Streaming DiLoCo with overlapping communication" (Douillard et al., arXiv 2501.18512) and of "Communication-
Efficient Language Model Training Scales Reliably and Robustly" (Charles et al., arXiv 2503.09799): their tables of compute utilisation."""

from reproduce.paper import words_of

claim, figure_of = words_of("douillard2025")
