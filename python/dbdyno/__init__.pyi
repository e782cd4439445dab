"""What type checkers see of `dbdyno`: its names are loaded when used."""

from dbdyno.api import DynoError as DynoError
from dbdyno.api import Frame as Frame
from dbdyno.api import Run as Run
from dbdyno.api import Where as Where
from dbdyno.api import open as open
from dbdyno.api import run as run

__version__: str
