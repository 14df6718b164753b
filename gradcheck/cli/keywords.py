"""`-k EXPRESSION`: words joined by `and`, `or`, `not` and brackets, as in pytest; a word holds where the id has it.

Parsed into postfix order by the shunting-yard algorithm (Dijkstra, 1961), so nothing recurses and nothing is
evaluated by Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gradcheck.errors import UsageError

_TOKEN = re.compile(r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<mark>[()])|(?P<word>[^\s()'"]+))""")
_BINDING = {"or": 1, "and": 2, "not": 3}
_HINT = "write words with 'and', 'or', 'not' and brackets, and quote words that contain blanks"


def compile_keywords(expression: str) -> Callable[[str], bool]:
    """A predicate on ids; words are compared without regard to case."""
    postfix = _postfix(_tokens(expression), expression)

    def matches(id: str) -> bool:
        folded = id.casefold()
        stack: list[bool] = []
        for kind, text in postfix:
            if kind == "word":
                stack.append(text in folded)
            elif text == "not":
                stack.append(not stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((left and right) if text == "and" else (left or right))
        return stack.pop()

    return matches


def _tokens(expression: str) -> list[tuple[str, str]]:
    """Pairs of a kind ("word", "operator" or a bracket) and the text."""
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(expression.rstrip())
    while position < end:
        match = _TOKEN.match(expression, position)
        if match is None:
            raise _error(expression, "a quotation mark is not closed")
        position = match.end()
        word = match["word"]
        if match["text"]:
            tokens.append(("word", match["text"][1:-1].casefold()))
        elif match["mark"]:
            tokens.append((match["mark"], match["mark"]))
        else:
            tokens.append(("operator" if word in _BINDING else "word", word if word in _BINDING else word.casefold()))
    return tokens


def _postfix(tokens: list[tuple[str, str]], expression: str) -> list[tuple[str, str]]:
    output: list[tuple[str, str]] = []
    waiting: list[tuple[str, str]] = []
    operand_next = True
    for kind, text in tokens:
        starts_operand = kind in ("word", "(") or text == "not"
        if operand_next != starts_operand or (kind == ")" and operand_next):
            raise _error(expression, _expected(text, operand_next))
        if kind == "word":
            output.append((kind, text))
        elif kind == ")":
            while waiting and waiting[-1][0] != "(":
                output.append(waiting.pop())
            if not waiting:
                raise _error(expression, "a ')' has no '('")
            waiting.pop()
        else:
            if kind == "operator" and text != "not":
                while waiting and _BINDING.get(waiting[-1][1], 0) >= _BINDING[text] and waiting[-1][0] != "(":
                    output.append(waiting.pop())
            waiting.append((kind, text))
        operand_next = kind in ("operator", "(")
    if operand_next:
        raise _error(expression, "it ends where a word is expected" if tokens else "it is empty")
    if any(kind == "(" for kind, _ in waiting):
        raise _error(expression, "a '(' has no ')'")
    return [*output, *reversed(waiting)]


def _expected(found: str, operand: bool) -> str:
    wanted = "a word" if operand else "'and' or 'or'"
    return f"'{found}' stands where {wanted} is expected"


def _error(expression: str, reason: str) -> UsageError:
    return UsageError(f"cannot understand -k {expression!r}: {reason}", hint=_HINT)
