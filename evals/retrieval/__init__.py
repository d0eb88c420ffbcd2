"""How well runbooks are found: a labelled set of our own making, and what search by words, by meaning and by both makes
of it. `python -m evals.retrieval` prints the table."""
