"""Values in messages: whatever was given, it is named in a few words."""

from reprlib import Repr
from typing import Any

_repr = Repr()
_repr.maxdict = _repr.maxlist = _repr.maxtuple = 8
_repr.maxstring = _repr.maxlong = _repr.maxother = 60


def shown(value: Any) -> str:
    """A value as `repr` has it, cut where it is long or deep: hostile ones would fill the memory, or never end."""
    return _repr.repr(value)
