"""The pictures of Mandala."""

from mandala_env.pictures.mandala.seen import parts, seen
from mandala_env.pictures.mandala.table import draw
from mandala_env.pictures.mandala.text import text
from mandala_env.pictures.picture import Picture

PICTURE = Picture(seen, text, draw, parts)
