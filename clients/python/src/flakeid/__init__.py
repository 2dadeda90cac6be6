"""64-bit time-ordered ids that carry their shard, minted in this process.

    with flakeid.Minter("dbname=app") as ids:
        id = ids.next()

Minter and AsyncMinter mint from a shard that they lease from a database with the extension
flakeid.  Prefetch and AsyncPrefetch hand out ids of the database, fetched in batches.  Layout,
to_text(), seal(), shard_for() and others do what the SQL functions do, without a database.

What all of it promises is in docs/clients.md of https://github.com/flakeid/flakeid.
"""

from ._aio import AsyncMinter
from ._errors import (
    Closed,
    FlakeidError,
    Forked,
    InvalidArgument,
    LeaseExpired,
    LifetimeOver,
    NoGenerator,
    NoShardLeft,
    NotConnected,
    NotInstalled,
    NotPermitted,
    NotYet,
    ServerError,
    TooFarAhead,
    UnsupportedLayout,
)
from ._keeper import Event
from ._layout import Decoded, Layout
from ._minter import Minter
from ._prefetch import AsyncPrefetch, Prefetch
from ._route import shard_for
from ._seal import seal, seal_text, unseal, unseal_text
from ._text import from_text, to_text
from ._uuidv7 import uuidv7_decode

__version__ = "1.0.0"

__all__ = [
    "AsyncMinter",
    "AsyncPrefetch",
    "Closed",
    "Decoded",
    "Event",
    "FlakeidError",
    "Forked",
    "InvalidArgument",
    "Layout",
    "LeaseExpired",
    "LifetimeOver",
    "Minter",
    "NoGenerator",
    "NoShardLeft",
    "NotConnected",
    "NotInstalled",
    "NotPermitted",
    "NotYet",
    "Prefetch",
    "ServerError",
    "TooFarAhead",
    "UnsupportedLayout",
    "from_text",
    "seal",
    "seal_text",
    "shard_for",
    "to_text",
    "unseal",
    "unseal_text",
    "uuidv7_decode",
]
