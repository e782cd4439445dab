"""`dyno serve`: runs, digests and models as pages in a browser. Each page has a twin for programs,
at the same address with `.json` behind it.

Pages draw the views of the report's sections by the report's templates; `templates/base.html.j2`
here takes the place of the report's. Nothing here is imported before the command runs.
"""
