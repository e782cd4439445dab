"""A run without its author's identity: names become aliases, literals go, numbers stay.

Everything is refused that is not known to be harmless: texts that only people can judge (context,
notes, comments, output of commands, messages of servers) are replaced as a whole; names of hosts,
users, schemas, tables and the like by aliases that are the same everywhere in a run. What came out
of it is a run like any other, so that reports, tables and bundles need no redaction of their own.
docs/decisions/redaction-is-a-run.md says what stays and why.
"""

from dbdyno.share.redact.aliases import Aliases
from dbdyno.share.redact.run import redacted

__all__ = ["Aliases", "redacted"]
