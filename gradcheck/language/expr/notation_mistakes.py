"""Notation of mathematics, LaTeX, Matlab or other libraries, and hints.

It is searched in an expression that cannot be parsed. A further habit is a line in `HABITS`, a single character one in
`SIGNS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gradcheck.autograd.op import lookup
from gradcheck.errors import Hint


class NotationMistake(NamedTuple):
    """A mistake `at` a position; its hint is a `Hint` for a sure correction."""

    at: int
    message: str
    hint: str


#: Characters that editors and papers use in place of others.
SIGNS: dict[str, str] = {
    **dict.fromkeys("“”„‟«»", '"'),
    **dict.fromkeys("‘’‚‛`´", "'"),
    **dict.fromkeys("−–—‐‑", "-"),
    **dict.fromkeys("×·⋅∗⊙∘∙•", " * "),
    **dict.fromkeys("ᵀ⊤", ".T"),
    **dict.fromkeys("÷⁄", " / "),
    "²": " ** 2",
    "³": " ** 3",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∞": "inf",
    "，": ", ",
    "（": "(",
    "）": ")",
    "＝": "=",
    "\u00a0": " ",
}
#: Characters that stand for a function.
_FUNCTIONS = {"√": "sqrt(x)", "∑": "x.sum()", "∏": "x.prod()", "∂": "grad(x)", "∇": "grad(x)", "‖": "linalg.norm(x)"}
#: LaTeX's words, and their spelling here.
_LATEX = {
    "sigma": "sigmoid(x)",
    "sum": "x.sum()",
    "prod": "x.prod()",
    "frac": "a / b",
    "sqrt": "sqrt(x)",
    "odot": "*",
    "cdot": "* or @",
    "times": "*",
    "partial": "grad(x)",
    "nabla": "grad(x)",
    "top": ".T",
    "intercal": ".T",
    "lambda": "a name without the backslash",
    "mathbf": "the name alone",
    "left": "(",
    "right": ")",
    "infty": "inf",
    "operatorname": "the name alone",
}
_MISSING = "an operator is missing: a product is written * by elements, @ of matrices"
_MISSING_INSIDE = "a comma is missing, or an operator: a product is written * by elements, @ of matrices"
_STATEMENTS = frozenset({"assert", "return", "let", "var", "def", "const", "print"})
#: Text in closed quotation marks, unless the first ends a word, as Matlab's transpose does.
_QUOTED = r"(?<![\w)\]])(['\"]).*?\1"
_WORDS = frozenset(
    ["and", "or", "not", "in", "is", "if", "else", "for", "lambda", "await", "async", "None", "True", "False"]
)

#: A habit: a pattern and its message. Patterns match a word from its beginning alone, so that long words cost linear
#: time.
_Habit = tuple[str, Callable[[re.Match[str]], NotationMistake | None]]


def find_notation_mistake(text: str) -> NotationMistake | None:
    """Return the first known habit in a text that is no expression."""
    plain = re.sub(_QUOTED, lambda found: "0" * len(found[0]), text)
    found = [slip for pattern, tell in HABITS for match in re.finditer(pattern, plain) if (slip := tell(match))]
    return min(found, key=lambda slip: slip.at, default=None)


def _fixed_message(message: str, hint: str, new: str | None = None) -> Callable[[re.Match[str]], NotationMistake]:
    """Return a habit's teller; `{0}` is the matched text, `{1}` a group."""

    def tell(found: re.Match[str]) -> NotationMistake:
        parts = [part.strip() for part in (found[0], *found.groups(""))]
        said = hint.format(*parts)
        said = said if new is None else Hint(said, found[0], new.format(*parts))
        return NotationMistake(found.start(), message.format(*parts), said)

    return tell


def _transposed(found: re.Match[str]) -> NotationMistake:
    mark, owner = found[2], found[1] or "X"
    beside = re.match(r" +(?=[A-Za-z_(])", found.string[found.end() :])  # a factor without a sign
    old, new = (mark + beside[0], ".T @ ") if beside else (mark, ".T")
    hint = Hint(f"transpose is {owner}.T, product is @", old, new)
    return NotationMistake(found.start(2), f"{mark} is not part of the language", hint)


def _sign(found: re.Match[str]) -> NotationMistake:
    sign = found[0]
    if sign in _FUNCTIONS:
        return NotationMistake(
            found.start(), f"the character {sign} is not part of the language", f"write {_FUNCTIONS[sign]}"
        )
    new = SIGNS[sign]
    what = "the no-break space" if sign == "\u00a0" else f"the character {sign}"
    hint = f"write {new.strip()}" if new.strip() else "write a plain one"
    return NotationMistake(found.start(), f"{what} is not part of the language", Hint(hint, sign, new))


def _latex(found: re.Match[str]) -> NotationMistake:
    word = found[1]
    written = _LATEX.get(word) or (f"{word}(x)" if lookup(word) else "it as in PyTorch: sigmoid(x), X.T @ Y")
    return NotationMistake(found.start(), f"LaTeX's \\{word} is not part of the language", f"write {written}")


def _missing_operator(found: re.Match[str]) -> NotationMistake | None:
    left, right = found["left"], found["right"]
    if left in _WORDS or right in _WORDS:
        return None
    if left in _STATEMENTS:
        return NotationMistake(
            found.start(), f"'{left}' is not part of the language", Hint("leave it out", f"{left} ", "")
        )
    where = found.start("right")
    before = found.string[: found.start()]
    inside = before.count("(") + before.count("[") > before.count(")") + before.count("]")
    if len(left) > 1 and not left.strip("0"):
        left = "the text"
    if lookup(left) and not left[-1].isdigit() and len(left) > 1:
        return NotationMistake(found.start(), f"the function '{left}' is not called", f"write {left}({right})")
    shown = f"'{left}' and '{right}'" if left != "the text" else f"the text and '{right}'"
    return NotationMistake(where, f"nothing stands between {shown}", _MISSING_INSIDE if inside else _MISSING)


def _stuck(found: re.Match[str]) -> NotationMistake | None:
    """Report `2X` and `0.5x`; exponents such as `1e` are no product."""
    number, word = found[1], found[2]
    if word.lower() in ("e", "j") or (word[0] in "eExXoObBjJ" and word[1:].isdigit()):
        return None
    hint = Hint(_MISSING, word, f" * {word}")
    return NotationMistake(found.start(2), f"nothing stands between '{number}' and '{word}'", hint)


def _keyword(found: re.Match[str]) -> NotationMistake:
    return NotationMistake(
        found.start(2), "a keyword has '=', not ':'", Hint(f"write {found[1]}={found[3]}", found[2], "=")
    )


def _row(found: re.Match[str]) -> NotationMistake:
    row = f"[{', '.join(found[0].split())}]"
    return NotationMistake(found.start(), "numbers in a row are no list", Hint(f"write {row}", found[0].strip(), row))


HABITS: tuple[_Habit, ...] = (
    (r"^\s*[-+]?[\d.]+(?:\s+[-+]?[\d.]+)+\s*$", _row),
    (r"(?<!\w)(\w*+)(\^\s*(?:\{\s*\\?(?:T|top|intercal)\s*\}|\\(?:top|intercal)\b|T\b))", _transposed),
    (r"((?<!\w)\w++|(?<=[)\]]))(\.?')(?!\w)", _transposed),
    (r"(?://|%)(?=(?: +[A-Za-z']+){2,} *$)",
     _fixed_message("{0} begins no comment", "a comment begins with #")),
    (r"(?<!\w)(\w++)\(\s*+:\s*+\)",
     _fixed_message("{0} is not part of the language", "write {1}.flatten()", "{1}.flatten()")),
    (r"\.\^", _fixed_message(".^ is not part of the language", "a power is written **", "**")),
    (r"(?<![\d.])\.\*\*?", _fixed_message(".* is not part of the language", "a product by elements is written *", "*")),
    (r"(?<![\d.])\./", _fixed_message("./ is not part of the language", "a quotient by elements is written /", "/")),
    (r"\\(\w+)", _latex),
    ("|".join(map(re.escape, (*SIGNS, *_FUNCTIONS))), _sign),
    (r"\|\|([^|]+)\|\|", _fixed_message("bars are no norm", "write linalg.norm({1})", "linalg.norm({1})")),
    (r"(?<![\w)\]] )(?<![\w)\]])\|([^|]+)\|",
     _fixed_message("bars are no absolute value", "write abs({1})", "abs({1})")),
    (r"&&", _fixed_message("&& is not part of the language", "write &, with brackets: (x > 0) & (x < 1)", "&")),
    (r"(?<=[\w)\]\d] )\|\|(?= ?[\w(])(?![^|]*\|\|)",
     _fixed_message("|| is not part of the language", "write |, with brackets: (x < 0) | (x > 1)", "|")),
    (r"(?<=[\w)\]])!(?!=)", _fixed_message("! is not part of the language", "a factorial is exp(lgamma(x + 1))")),
    (r"!(?!=)", _fixed_message("! is not part of the language", "the opposite of a mask is ~mask")),
    (r"\?", _fixed_message("a conditional with ? is not part of the language", "write where(condition, x, y)")),
    (r"(?<!\s)\s*+;\s*\Z", _fixed_message("a semicolon ends no expression", "leave it out", "")),
    (r";", _fixed_message("a semicolon parts no expressions", "write each on a line of its own, with a name")),
    (r"(?<=[(,\s])(dim|axis|keepdim|keepdims|dtype)\s*(:)\s*(\w+)", _keyword),
    (r"(?<=einsum\()\s*\w+(?:,\w+)*\s*->\s*\w*",
     _fixed_message("the equation of einsum is a text", "write '{0}'", "'{0}'")),
    (r"\b(exp|log|sin|cos|tanh|sqrt)\s*\^\s*(\w+)",
     _fixed_message("'{1}' is a function", "write {1}({2})")),
    (r"(?<=\w)\{", _fixed_message("braces are no index and no call", "write x[0] for an element, f(x) for a call")),
    (r"->|=>", _fixed_message("an arrow is not part of the language", "write the result alone")),
    (r"[-+*/@]=", _fixed_message("an assignment is not part of the language", "give the result a name of its own")),
    (r"(?<![\w.])(\d+(?:\.\d*)?|\.\d+)([A-Za-z_]\w*)", _stuck),
    (r"(?P<left>(?<!\w)\w++|[)\]]) +(?P<right>(?:[^\W\d]\w*|\d+))", _missing_operator),
    (r"(?P<left>[)\]]) *(?P<right>(?:[^\W\d]\w*|\d+))", _missing_operator),
)  # fmt: skip
