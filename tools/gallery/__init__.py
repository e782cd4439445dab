"""The gallery: published articles' conclusions, judged by runs, models and digests, drawn into
`docs/articles/`.

A file of `articles/` a row: what the article asks and says, and for each conclusion the evidence
that judges it (`evidence/`, a module a kind). No verdict is written by hand: it comes from a claim
in a stored run, from a number that is computed when the page is drawn, or is "not tested here".
"""
