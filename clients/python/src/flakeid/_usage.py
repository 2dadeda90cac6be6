"""``for`` and ``with``, ``async for`` and ``async with``, for what has next() and close()."""

from __future__ import annotations

from types import TracebackType
from typing import AsyncIterator, Iterator, Optional, Type, TypeVar

_Blocking = TypeVar("_Blocking", bound="Blocking")
_Awaited = TypeVar("_Awaited", bound="Awaited")


class Blocking:
    """What Minter and Prefetch have in common."""

    def next(self, timeout: float = ...) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        """Ids without end, each as by next()."""
        return self

    def __next__(self) -> int:
        return self.next()

    def __enter__(self: _Blocking) -> _Blocking:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


class Awaited:
    """What AsyncMinter and AsyncPrefetch have in common."""

    async def next(self, timeout: float = ...) -> int:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    def __aiter__(self) -> AsyncIterator[int]:
        """Ids without end, each as by next()."""
        return self

    async def __anext__(self) -> int:
        return await self.next()

    async def __aenter__(self: _Awaited) -> _Awaited:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()
