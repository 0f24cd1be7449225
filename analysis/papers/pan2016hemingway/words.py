"""The claims and figures of the paper by their names; their words stand in the tables beside this file."""

from reproduce.paper import words_of

claim, figure_of = words_of("pan2016hemingway")


def machines(m):
    return f"{m} machine{'s' * (m > 1)}"
