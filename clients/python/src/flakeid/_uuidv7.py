"""UUIDs of version 7 that carry a shard, as flake_uuidv7() mints them."""

from __future__ import annotations

import re
from typing import Union
from uuid import UUID

from ._errors import InvalidArgument
from ._layout import Decoded

# As PostgreSQL reads them: hyphens after each four digits may be left out, and braces be around.
_TEXT = re.compile(r"(\{)?(?:[0-9A-Fa-f]{4}-?){7}[0-9A-Fa-f]{4}(?(1)\})")


def uuidv7_decode(id: Union[UUID, str]) -> Decoded:
    """The time, shard and sequence number of a UUID of version 7, as flake_uuidv7_decode().

    The shard and the sequence number mean something in ids that flakeid has minted.  Raises
    InvalidArgument for a text that is no UUID, and for a UUID of another version.
    """
    if not isinstance(id, UUID) and not (isinstance(id, str) and _TEXT.fullmatch(id)):
        raise InvalidArgument(f"invalid UUID: {id!r}")
    number = (id if isinstance(id, UUID) else UUID(id)).int
    if number >> 76 & 0xF != 7 or number >> 62 & 0x3 != 2:
        raise InvalidArgument(f"{id} is not a UUID of version 7")
    return Decoded((number >> 80) * 1000, number >> 49 & 0x1FFF, number >> 64 & 0xFFF)
