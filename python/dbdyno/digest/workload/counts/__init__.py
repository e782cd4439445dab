"""A workload from the statements that a server counts: its texts have no values, so these are drawn
from the columns that they are compared with or written to."""
