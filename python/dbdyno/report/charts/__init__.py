"""Charts as inline SVG, drawn by us: no library, no script, and they print.

Colours are CSS custom properties of the page (`--s0` ... `--s7`), so that one drawing serves light
and dark; a downloaded chart gets the style with it. Text sizes are true pixels: a full-width figure
is drawn twice, wide and narrow, and CSS shows the one that fits, since scaling a wide drawing down
to a phone makes its labels unreadable.
"""
