"""Unusual blocks of one ratio: an outlier, a trend, neighbours that are alike.

Warnings with the block's name and its number; no verdict depends on them
(docs/decisions/looking-across-blocks.md).
"""

from dbdyno.analysis.between_blocks.look import BLOCKS_LOOK_MIN, Uneven, look
from dbdyno.analysis.between_blocks.of_claims import Judged, of_claim
from dbdyno.analysis.between_blocks.of_lead import of_lead

__all__ = ["BLOCKS_LOOK_MIN", "Judged", "Uneven", "look", "of_claim", "of_lead"]
