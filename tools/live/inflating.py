"""What a response holds, as it streams: unpacked piece by piece, so that no small answer becomes a large one unseen.

httpx unpacks a whole chunk at once, and every coding of a chain (`gzip, gzip`): a few kilobytes would be gigabytes
before anybody could count them. Here one coding is understood, the one that is asked for.
"""

import zlib
from collections.abc import AsyncIterator

import httpx

from tools.base import SourceFailure
from tools.vocabulary import SourceError

ASKED = {"Accept-Encoding": "gzip"}
"""The header of every request whose answer is read by `pieces`."""
_PIECE = 65_536
_GZIP = zlib.MAX_WBITS | 16


async def pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield what a streamed response holds, at most 64 KiB of unpacked bytes at once.

    Raises SourceFailure(SOURCE_UNREADABLE) for a coding that wasn't asked for, httpx.DecodingError for a broken one.
    """
    coding = response.headers.get("content-encoding", "").strip().casefold()
    if coding not in {"", "identity", "gzip", "x-gzip"}:
        raise SourceFailure(SourceError.SOURCE_UNREADABLE)
    # Not aiter_raw: a response that a test made holds its body already. pieces() is its only reader.
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - an asynchronous client gives no other
    if coding in {"", "identity"}:
        async for chunk in stream:
            yield chunk
        return
    unpacking = zlib.decompressobj(_GZIP)
    async for chunk in stream:
        packed = chunk
        while packed:
            piece = _unpacked(unpacking, packed)
            packed = unpacking.unconsumed_tail
            if piece:
                yield piece
    while not unpacking.eof and (piece := _unpacked(unpacking, b"")):
        yield piece


def _unpacked(unpacking: "zlib._Decompress", packed: bytes) -> bytes:
    try:
        return unpacking.decompress(packed, _PIECE)
    except zlib.error:
        pass
    raise httpx.DecodingError("broken gzip")
