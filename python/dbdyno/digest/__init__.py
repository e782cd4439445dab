"""What servers did, from their logs or their own statistics: documents of `dyno-engine digest`, the
same from samples of a server's views, and two of them side by side. Drawn by `report.digest`.
"""

from dbdyno.digest.document import Document as Document
from dbdyno.digest.document import parse as parse
