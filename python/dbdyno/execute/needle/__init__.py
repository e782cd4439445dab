"""A value that is written to a server and looked for in its files: `dyno check --write-needle`.

The proof that a class of data is plain. That a value is not found proves nothing alone: the page
may not have been written yet.
"""
