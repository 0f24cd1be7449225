"""Figures and claims of "Streaming DiLoCo with overlapping communication" (Douillard et al., arXiv 2501.18512) and of "Communication-
Efficient Language Model Training Scales Reliably and Robustly" (Charles et al., arXiv 2503.09799): their tables of compute utilisation."""

TITLE = "DiLoCo: the bandwidth that a compute utilisation takes (Douillard et al., 2025)"
LINK = "https://arxiv.org/abs/2501.18512"
QUESTION = (
    "Two datacentres train a model together. How much bandwidth between them keeps their machines computing for 50 to 99 % of the time, "
    "with data-parallel training and with DiLoCo, which exchanges every H steps?"
)
HEAD = (
    "Table 4 of arXiv 2501.18512 and table 6 of arXiv 2503.09799 come from a simulator that was not released. The bytes of an exchange are "
    "fitted to the 35 entries of the model of 10B; the 70 others are predicted."
)

EXPERIMENTS = {
    "tables:table4": ["4"],
    "tables:table6": ["6"],
    "tables:streaming": ["streaming"],
}
