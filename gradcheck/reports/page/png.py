"""PNG images with a palette (W3C, Portable Network Graphics, 3rd edition)."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence

import numpy as np


def encode_png(indices: np.ndarray, palette: Sequence[tuple[int, int, int]]) -> bytes:
    """Return an image; pixels are uint8 indices of at most 256 colours."""
    height, width = indices.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = indices
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours = b"".join(struct.pack("BBB", *colour) for colour in palette)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def data_uri(indices: np.ndarray, palette: Sequence[tuple[int, int, int]]) -> str:
    """Return the image as a URI for an attribute."""
    return f"data:image/png;base64,{b64encode(encode_png(indices, palette)).decode('ascii')}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
