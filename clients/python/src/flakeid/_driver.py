"""The database, by psycopg (3) or psycopg2, whichever is installed; psycopg is tried first.

A statement that the server does not answer within ``PATIENCE`` seconds counts as failed: it may
be stopped, or the network may swallow everything.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._errors import InvalidArgument

PATIENCE = 10.0

Row = Tuple[Any, ...]

# What notices a server that is gone; a connection string, or libpq's environment, wins.
_DEFAULTS = {
    "connect_timeout": ("PGCONNECT_TIMEOUT", "10"),
    "keepalives_idle": ("", "10"),
    "keepalives_interval": ("", "5"),
    "keepalives_count": ("", "3"),
    "tcp_user_timeout": ("", "20000"),
}


class DatabaseFailed(Exception):
    """The server, or the way to it, has failed; sqlstate is None if there was no answer."""

    def __init__(
        self, message: str, sqlstate: Optional[str] = None, detail: Optional[str] = None, hint: Optional[str] = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate
        self.detail = detail
        self.hint = hint


def _failed(error: Any) -> DatabaseFailed:
    """Of an exception of either driver."""
    diagnostics = getattr(error, "diag", None)
    return DatabaseFailed(
        getattr(diagnostics, "message_primary", None) or str(error).strip() or type(error).__name__,
        getattr(error, "sqlstate", None) or getattr(error, "pgcode", None),
        getattr(diagnostics, "message_detail", None),
        getattr(diagnostics, "message_hint", None),
    )


def driver() -> Any:
    """The module psycopg or psycopg2; ImportError if there is neither."""
    try:
        import psycopg

        return psycopg
    except ImportError:
        pass
    try:
        import psycopg2
        import psycopg2.extensions

        return psycopg2
    except ImportError as error:
        raise ImportError(
            "a driver for PostgreSQL is needed: pip install 'flakeid[psycopg]' or 'flakeid[psycopg2]'"
        ) from error


def has_async() -> bool:
    """Whether the driver has connections for asyncio."""
    return hasattr(driver(), "AsyncConnection")


def connection_parameters(dsn: str) -> Dict[str, Any]:
    """What a connection string says, with defaults; InvalidArgument if it is malformed."""
    module = driver()
    parse = module.conninfo.conninfo_to_dict if has_async() else module.extensions.parse_dsn
    if not isinstance(dsn, str) or "\0" in dsn:
        raise InvalidArgument(f"invalid connection string: {dsn!r}", "It is a text.")
    try:
        parameters: Dict[str, Any] = parse(dsn)
    except module.Error as error:
        raise InvalidArgument("invalid connection string", str(error).strip()) from None
    parameters.setdefault("fallback_application_name", "flakeid")
    parameters["client_encoding"] = "UTF8"  # of a database in SQL_ASCII, psycopg would return bytes
    for name, (variable, value) in _DEFAULTS.items():
        if not (variable and os.environ.get(variable)):
            parameters.setdefault(name, value)
    return parameters


def _hang_up(connection: Any) -> None:
    """Makes the statement under way fail, without asking the server for anything."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as way:
            way.shutdown(socket.SHUT_RDWR)
    except (OSError, driver().Error):
        pass


def _is_broken(connection: Any) -> bool:
    """Whether a connection, of either driver, is over.  For one that is idle, and has news."""
    try:
        if hasattr(connection, "pgconn"):
            connection.pgconn.consume_input()
        else:
            connection.poll()
    except driver().Error:
        return True
    return bool(connection.closed)


class Connection:
    """A connection, in autocommit mode; for one thread."""

    def __init__(self, parameters: Dict[str, Any]) -> None:
        module = driver()
        self._error = module.Error
        try:
            self._connection = module.connect(**parameters)
            self._connection.autocommit = True
        except module.Error as error:
            raise _failed(error) from error

    def query(self, sql: str, parameters: Sequence[Any]) -> List[Row]:
        """Executes a statement that returns rows, or SET; DatabaseFailed after PATIENCE seconds."""
        watchdog = threading.Timer(PATIENCE, _hang_up, [self._connection])
        watchdog.daemon = True
        try:
            watchdog.start()
        except RuntimeError:
            pass  # the interpreter ends: without
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return list(cursor.fetchall()) if cursor.description else []
        except self._error as error:
            raise _failed(error) from error
        finally:
            watchdog.cancel()

    def fileno(self) -> int:
        """For waiting until there is news, while nothing is asked; -1 if it is known to be over."""
        return -1 if self._connection.closed else int(self._connection.fileno())

    def is_broken(self) -> bool:
        """With such news: whether it is over."""
        return _is_broken(self._connection)

    def close(self) -> None:
        try:
            self._connection.close()
        except self._error:
            pass


class AsyncConnection:
    """The same for asyncio, of psycopg 3."""

    def __init__(self, connection: Any, error: Any) -> None:
        self._connection = connection
        self._error = error

    @classmethod
    async def connect(cls, parameters: Dict[str, Any]) -> AsyncConnection:
        module = driver()
        try:
            connection = await module.AsyncConnection.connect(**parameters, autocommit=True)
        except module.Error as error:
            raise _failed(error) from error
        return cls(connection, module.Error)

    async def query(self, sql: str, parameters: Sequence[Any]) -> List[Row]:
        watchdog = asyncio.get_running_loop().call_later(PATIENCE, _hang_up, self._connection)
        try:
            async with self._connection.cursor() as cursor:
                await cursor.execute(sql, parameters or None)
                return list(await cursor.fetchall()) if cursor.description else []
        except self._error as error:
            raise _failed(error) from error
        finally:
            watchdog.cancel()

    def fileno(self) -> int:
        return -1 if self._connection.closed else int(self._connection.fileno())

    def is_broken(self) -> bool:
        return _is_broken(self._connection)

    async def close(self) -> None:
        try:
            await self._connection.close()
        except self._error:
            pass

    def abandon(self) -> None:
        """Closes it when its event loop has ended."""
        self._connection.pgconn.finish()
