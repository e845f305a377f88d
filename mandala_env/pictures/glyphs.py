"""Colours and the signs that tell them apart without colour, as shapes that every drawing defines once."""

CARD_WIDTH, CARD_HEIGHT = 40, 56  # of the shapes here; drawings scale them
LIGHT, DARK = "#ffffff", "#26221c"
# Colour -> its paint and the ink of its sign.
PAINT = {
    "red": ("#c8313a", LIGHT),
    "orange": ("#f18f1f", DARK),
    "yellow": ("#f8e066", DARK),
    "green": ("#1c8560", LIGHT),
    "purple": ("#70419f", LIGHT),
    "black": ("#27272c", LIGHT),
    "grey": ("#a4adb6", DARK),
}
RAYS = "M0 -9V-6M0 9V6M-9 0H-6M9 0H6M-6.4 -6.4L-4.2 -4.2M6.4 6.4L4.2 4.2M-6.4 6.4L-4.2 4.2M6.4 -6.4L4.2 -4.2"
# Signs around (0, 0), up to 10 units from it; {0} is the ink and {1} the paint.
SIGNS = {
    "red": '<path d="M0 9C-14 -1 -7 -11 0 -4.5C7 -11 14 -1 0 9Z" fill="{0}"/>',
    "orange": f'<circle r="4" fill="{{0}}"/><path d="{RAYS}" stroke="{{0}}" stroke-width="2.2" '
    'stroke-linecap="round" fill="none"/>',
    "yellow": '<path d="M0 -10L2.6 -3.4L9.5 -3.1L4.1 1.3L5.9 8.1L0 4.2L-5.9 8.1L-4.1 1.3L-9.5 -3.1L-2.6 -3.4Z" '
    'fill="{0}"/>',
    "green": '<path d="M-8 8C-10 -4 -2 -9 9 -9C9 3 4 10 -8 8Z" fill="{0}"/>'
    '<path d="M-8 8L4 -4" stroke="{1}" stroke-width="1.8" fill="none"/>',
    "purple": '<path d="M0 -10L7.5 0L0 10L-7.5 0Z" fill="{0}"/><path d="M0 -4.5L3.4 0L0 4.5L-3.4 0Z" fill="{1}"/>',
    "black": '<path d="M4 -9A9.5 9.5 0 1 0 8.5 5.5A7.5 7.5 0 0 1 4 -9Z" fill="{0}"/>',
    "grey": '<path d="M-8.5 -6H8.5M-8.5 0H8.5M-8.5 6H8.5" stroke="{0}" stroke-width="3.2" stroke-linecap="round" '
    'fill="none"/>',
}


def sign(colour: str) -> str:
    """A colour's sign in the ink of its cards."""
    paint, ink = PAINT[colour]
    return SIGNS[colour].format(ink, paint)


def card_shape(colour: str) -> str:
    """A card that lies open."""
    return (
        f'<g id="card-{colour}"><rect x=".75" y=".75" width="38.5" height="54.5" rx="6" fill="{PAINT[colour][0]}" '
        f'stroke="#fff" stroke-width="1.5"/><rect width="40" height="56" rx="6.5" fill="none" stroke="{DARK}" '
        f'stroke-opacity=".45" stroke-width=".8"/><g transform="translate(20 28) scale(1.35)">{sign(colour)}</g>'
        f'<g transform="translate(7.5 8.5) scale(.42)">{sign(colour)}</g></g>'
    )


def spot_shape(colour: str) -> str:
    """The sign of a card that lies face down and was seen, in a spot of its colour around (0, 0)."""
    return (
        f'<g id="spot-{colour}"><circle r="11.5" fill="{PAINT[colour][0]}" stroke="#fff" stroke-width="1.2"/>'
        f'<g transform="scale(.78)">{sign(colour)}</g></g>'
    )


def pale_shape(colour: str) -> str:
    """The sign of a colour that is missing, around (0, 0)."""
    return (
        f'<g id="pale-{colour}" opacity=".3"><circle r="11.5" fill="{PAINT[colour][0]}" stroke="{DARK}"/>'
        f'<g transform="scale(.78)">{sign(colour)}</g></g>'
    )


BACK_SHAPE = (
    '<g id="back"><rect x=".75" y=".75" width="38.5" height="54.5" rx="6" fill="#5d6f86" stroke="#fff" '
    f'stroke-width="1.5"/><rect width="40" height="56" rx="6.5" fill="none" stroke="{DARK}" stroke-opacity=".45" '
    'stroke-width=".8"/><path d="M5 17L20 5L35 17M5 28L20 16L35 28M5 39L20 51L35 39M5 28L20 40L35 28" fill="none" '
    'stroke="#8fa0b5" stroke-width="2"/></g>'
)
# A medal, for the claim marker.
MARKER_SHAPE = (
    '<g id="marker"><circle r="9" fill="#f2c14e" stroke="#7a5200" stroke-width="1.6"/>'
    '<path d="M-4.2 .2L-1.2 3.4L4.4 -3.2" fill="none" stroke="#5a3c00" stroke-width="2.4" stroke-linecap="round" '
    'stroke-linejoin="round"/></g>'
)
ARROW_SHAPE = '<path id="arrow" d="M-5 -6L6 0L-5 6Z" fill="#d28a00"/>'
DEFINITIONS = "\n".join(
    [
        *(f'<g id="sign-{colour}">{sign(colour)}</g>' for colour in PAINT),
        *(card_shape(colour) for colour in PAINT),
        *(spot_shape(colour) for colour in PAINT),
        *(pale_shape(colour) for colour in PAINT),
        BACK_SHAPE,
        MARKER_SHAPE,
        ARROW_SHAPE,
    ]
)
