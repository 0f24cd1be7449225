"""The claims and figures of the paper by their names; their words stand in the tables beside this file."""

from reproduce.rows import claims_of
from reproduce.words import figures_of

claim = claims_of("li2021")
figure_of = figures_of("li2021")
