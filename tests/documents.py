"""What the documents show: their fenced blocks, and reports without the time that a run took."""

from __future__ import annotations

import re
from pathlib import Path


def blocks(file: Path, language: str) -> list[str]:
    """The fenced blocks of a document in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def without_time(text: str) -> str:
    return re.sub(r"in \d+(\.\d+)?\s?m?s\b", "in …", text).strip()
