"""Words that people paste into a shell: a stranger may have chosen them."""

from __future__ import annotations

import os
import re

#: Characters that may end single quotes: fish reads a backslash in them, and PowerShell quotation marks of print.
_ENDS_QUOTE = re.compile(r"['\\\u2018-\u201b]+")


#: Texts that cmd.exe or PowerShell would change in double quotes, which alone mean the same to both.
_UNQUOTABLE = re.compile(r"""["%!$`\x00-\x1f\u201c-\u201e]|\\$""")


def quoted(text: str) -> str:
    """Return one word of a shell in quotes; Windows has none for some."""
    if os.name == "nt":
        return '"(left out: cmd.exe or PowerShell would change it)"' if _UNQUOTABLE.search(text) else f'"{text}"'
    return "'" + _ENDS_QUOTE.sub(lambda found: "'\"" + found[0].replace("\\", "\\\\") + "\"'", text) + "'"


def shell_word(text: str) -> str:
    """Return one word of a shell, in quotes if it needs them."""
    return text if re.fullmatch(r"[\w./:-]+", text, re.ASCII) else quoted(text)
