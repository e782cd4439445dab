"""What does storage cost that nobody uses, and when must it grow?

Volumes are paid by what is allocated. What is free is not all waste: some is needed until the
horizon, and some is the reserve above `full_at`. A volume that grows in steps is resized when it is
`full_at` full.

Formula:
    free [size] = max(0, allocated - used)
        allocated and not used
    free_cost [price] = free / GiB * price
        what that costs
    used_share [share] = used / allocated
        how full it is
    room [size] = max(0, allocated * full_at - used)
        until it is resized
    resize_in [duration] = room / growth * day if room > 0 else 0
        time until then
    resize_on [date] = today + resize_in / day
        the day; never, if it is beyond the calendar
    enough [size] = (used + growth * horizon / day) / full_at
        what would do until the horizon
    waste [price] = max(0, allocated - enough) / GiB * price
        what is paid for more than that

Assumptions:
    Data grows by the same amount each day. A GB of the price list is 2^30 bytes (it is with most
    providers; look). Most cloud volumes can grow and never shrink: saving means to copy.

Versions:
    Arithmetic: it depends on no version.

Source:
    Own derivation, 2026-11.

Trap:
    "70 % is free, so 70 % is wasted": what is needed before a resize can be done is a reserve.
    Count as waste what is not needed until the horizon.

    "It can be shrunk later": volumes of AWS, Azure and Google grow online and do not shrink.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("allocated", "size", "size of the volume", None, "1Mi", example="1000Gi"),
    Input("used", "size", "used part of it", None, "0", example="300Gi"),
    Input("growth", "size", "growth a day", "1Gi", "0"),
    Input("price", "price", "price of a GB", "0.10/month", "0/month"),
    Input("full_at", "share", "how full it may become before it is resized", "80%", "1%", "100%"),
    Input("today", "date", "the day of the figures", None, "1970-01-01", "2999-12-31",
          example="2026-01-31"),
    Input("horizon", "duration", "how far ahead it should do", "90d", "0s"),
)  # fmt: skip
OUTPUTS = ("waste", "free", "free_cost", "used_share", "resize_in", "resize_on", "enough")
SAYS = (
    ("room <= 0", "It is {used_share} full and has to grow now."),
    ("growth <= 0", "{free} are free and cost {free_cost}, of which {waste} is waste; it never has"
     " to grow."),
    ("resize_in > 1000 * 365 * day", "{free} are free and cost {free_cost}, of which {waste} is"
     " waste; it does not have to grow within 1,000 years."),
    ("", "{free} are free and cost {free_cost}, of which {waste} is waste: {enough} would do for"
     " {horizon}. It has to grow in {resize_in}, on {resize_on}."),
)  # fmt: skip
REFUSALS = (Note("used > allocated", "used={used} is more than allocated={allocated}"),)
NOTES = (
    Note("waste > 0.5 * free_cost", "a volume of {enough} would do for {horizon} and save {waste}"),
)
GOLDEN = (
    Golden({"allocated": "1000Gi", "used": "300Gi", "growth": "5Gi", "price": "0.10 USD/month",
            "today": "2026-01-01"},
           {"free_cost": "70.00 USD/month", "used_share": "30%", "resize_in": "100d",
            "resize_on": "2026-04-11", "enough": "937.5Gi", "waste": "6.25 USD/month"}, "by hand"),
    Golden({"allocated": "100Gi", "used": "90Gi", "today": "2026-01-01"},
           {"resize_in": "0s", "resize_on": "2026-01-01"}, "by hand"),
    Golden({"allocated": "100Gi", "used": "80Gi", "growth": "0", "today": "2026-01-01"},
           {"resize_in": "0s", "waste": "0/month"}, "by hand: full now, though it does not grow"),
    Golden({"allocated": "1000Gi", "used": "80Gi", "growth": "0", "today": "2026-01-01"},
           {"enough": "100Gi", "waste": "90.00/month", "free_cost": "92.00/month"}, "by hand"),
)  # fmt: skip
