"""The parser in Python alone, for a PyYAML that was built without libyaml: about twenty times as slow."""

from __future__ import annotations

from yaml.parser import Parser as _Parser
from yaml.reader import Reader
from yaml.scanner import Scanner


class Parser(Reader, Scanner, _Parser):
    """The same events as libyaml's."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        _Parser.__init__(self)
