"""The pictures of Flowers."""

from mandala_env.pictures.flowers.seen import parts, seen
from mandala_env.pictures.flowers.table import draw
from mandala_env.pictures.flowers.text import text
from mandala_env.pictures.picture import Picture

PICTURE = Picture(seen, text, draw, parts)
