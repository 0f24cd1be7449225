"""Figures and claims of "More Effective Distributed ML via a Stale Synchronous Parallel Parameter
Server" (Ho, Cipar, Cui, Kim, Lee, Gibbons, Gibson, Ganger, Xing, NIPS 2013)."""

from reproduce.paper import words_of

claim, figure_of = words_of("ho2013")
