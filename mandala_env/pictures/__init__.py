"""Pictures of positions: text, SVG, pixels, a window. They are made from what a seat has seen and nothing else.

`Game.seen` makes a plain dict of what a viewer may be shown; every picture, and the web page, is drawn from that dict.
"""
