"""The rows of this paper's claims.csv and figures.csv, by name."""

from reproduce.paper import words_of

claim, figure_of = words_of("vogels2019")
