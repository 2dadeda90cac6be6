"""The classes of errors, by the names of docs/clients.md."""

from __future__ import annotations

from typing import Optional


class FlakeidError(Exception):
    """What all errors of this package are.

    ``message``, ``detail`` and ``hint`` are sentences as PostgreSQL writes them; ``str()`` has
    all three.  ``sqlstate`` is the server's code where the server has refused, else None.
    """

    def __init__(
        self,
        message: str,
        detail: Optional[str] = None,
        hint: Optional[str] = None,
        sqlstate: Optional[str] = None,
    ) -> None:
        super().__init__(message, detail, hint, sqlstate)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.sqlstate = sqlstate

    def __str__(self) -> str:
        text = self.message
        if self.detail:
            text += f"\nDETAIL:  {self.detail}"
        if self.hint:
            text += f"\nHINT:  {self.hint}"
        return text


class NotConnected(FlakeidError):
    """The database cannot be reached, and there is no lease yet."""


class NotInstalled(FlakeidError):
    """The database has no extension flakeid."""


class NoGenerator(FlakeidError):
    """There is no such generator, or it is another relation."""


class UnsupportedLayout(FlakeidError):
    """The generator has no time, no shards, or ids that are UUIDs or wide."""


class NotPermitted(FlakeidError):
    """The role may not mint, or not lease."""


class NoShardLeft(FlakeidError):
    """All shards are leased or in use; the detail says when the next one can be had."""


class LeaseExpired(FlakeidError):
    """The lease is over and there is no new one.

    ``failing_since`` is the time since when renewing has failed, in microseconds since 1970 by
    this process's clock, or None; ``__cause__`` is the last failure.
    """

    failing_since: Optional[int] = None


class NotYet(FlakeidError):
    """The lease begins later by this process's clock.

    ``retry_after`` says in how many seconds.
    """

    retry_after: float = 0.0


class TooFarAhead(FlakeidError):
    """The next id would be more than ``max_ahead`` ahead of the clock.

    ``retry_after`` says in how many seconds it will not be.
    """

    retry_after: float = 0.0


class LifetimeOver(FlakeidError):
    """The layout has no later times."""


class Forked(FlakeidError):
    """The minter belongs to the parent process; make one in this process."""


class Closed(FlakeidError):
    """The minter was closed."""


class InvalidArgument(FlakeidError, ValueError):
    """An option, a layout, a text form or a key is malformed, or a number out of range."""


class ServerError(FlakeidError):
    """Any other error of the server; ``sqlstate`` is its code."""
