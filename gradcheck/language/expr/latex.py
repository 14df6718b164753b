"""From an Expr to LaTeX, for a paper or a notebook: the whole grammar, with mathematics' own signs where it has them.

`A @ B` is AB, `x * y` between tensors the elementwise product, `x / y` a fraction, `grad(x)` the gradient for x.
"""

from __future__ import annotations

import math

from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.printer import Piece, to_text, written

#: How strongly each kind of node binds.
_COMPARE, _OR, _AND, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = 1, 2, 4, 5, 6, 7, 8, 9

_INFIX: dict[str, tuple[str, int, int, int]] = {
    "lt": ("<", _COMPARE, 2, 2), "le": (r"\le", _COMPARE, 2, 2), "gt": (">", _COMPARE, 2, 2),
    "ge": (r"\ge", _COMPARE, 2, 2), "eq": ("=", _COMPARE, 2, 2), "ne": (r"\ne", _COMPARE, 2, 2),
    "bitwise_or": (r"\lor", _OR, 2, 3), "bitwise_and": (r"\land", _AND, 4, 5),
    "add": ("+", _SUM, 5, 6), "sub": ("-", _SUM, 5, 6),
    "remainder": (r"\bmod", _PRODUCT, 6, 7), "dot": (r"\cdot", _PRODUCT, 6, 7),
    **dict.fromkeys(("matmul", "mm", "bmm", "mv"), (r"\,", _PRODUCT, 6, 7)),
}  # fmt: skip
_FUNCTIONS = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "det", "max", "min"})
_WORDS = {
    "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "linalg.det": r"\det", "trace": r"\operatorname{tr}",
    "log2": r"\log_2", "log10": r"\log_{10}", "sigmoid": r"\sigma", "logdet": r"\log\det",
}  # fmt: skip
_AROUND = {
    "abs": (r"\left|", r"\right|"), "sqrt": (r"\sqrt{", "}"), "conj": (r"\overline{", "}"),
    "floor": (r"\left\lfloor ", r" \right\rfloor"), "ceil": (r"\left\lceil ", r" \right\rceil"),
    "linalg.vector_norm": (r"\left\| ", r" \right\|"),
}  # fmt: skip
_AFTER = {
    "T": r"^{\top}",
    "mT": r"^{\top}",
    "H": r"^{\dagger}",
    "mH": r"^{\dagger}",
    "linalg.inv": "^{-1}",
    "inv": "^{-1}",
}
_GREEK = frozenset(
    ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
     "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega")
)  # fmt: skip


def to_latex(expr: Expr) -> str:
    """The LaTeX of an expression, to stand between dollar signs."""
    return written(expr, _spell, r"\left(", r"\right)")


def name_to_latex(name: str) -> str:
    """A name: one letter in italics, a Greek one as that letter, `w1` with an index, a word upright."""
    base, bracket, index = name.partition("[")
    if bracket:
        return f"{name_to_latex(base)}_{{[{index[:-1]}]}}"
    stem = base.rstrip("0123456789")
    digits = base[len(stem) :]
    stem = stem.removesuffix("_") if digits else stem
    shown = (
        f"\\{stem}"
        if stem in _GREEK
        else stem
        if len(stem) == 1 and stem.isalpha()
        else rf"\mathrm{{{_escaped(stem)}}}"
    )
    return shown + (f"_{{{digits}}}" if digits else "")


def _escaped(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return "".join(signs.get(char) or (f"\\{char}" if char in "_%&#${}" else char) for char in text)


def _spell(expr: Expr) -> tuple[int, list[Piece]]:
    """How strongly an expression binds, and its pieces."""
    match expr:
        case Name(name):
            return _ATOM, [name_to_latex(name)]
        case Literal(value):
            return _spell_literal(expr, value)
        case Call():
            return _spell_call(expr)
        case Gradient(name):
            return _ATOM, [rf"\nabla_{{{name_to_latex(name)}}}"]
        case Attribute(value, name):
            return _ATOM, [rf"\operatorname{{{name}}}\left(", (value, 0), r"\right)"]
        case Sequence(items, is_tuple):
            left, right = (r"\left(", r"\right)") if is_tuple else (r"\left[", r"\right]")
            return _ATOM, [left, *_commas(items), right]
        case Dtype(name):
            return _ATOM, [rf"\mathtt{{{name}}}"]
        case Slice(start, stop, step):
            parts = [start, stop] if step is None else [start, stop, step]
            pieces: list[Piece] = []
            for index, part in enumerate(parts):
                pieces += [":"] if index else []
                pieces += [] if part is None else [(part, _COMPARE)]
            return _ATOM, pieces
    raise TypeError(f"{type(expr).__name__} is no expression")


def _commas(items: tuple[Expr, ...]) -> list[Piece]:
    pieces: list[Piece] = []
    for item in items:
        pieces += [", ", (item, 0)]
    return pieces[1:]


def _spell_call(call: Call) -> tuple[int, list[Piece]]:
    op, args = call.op, call.args
    if not call.kwargs and len(args) == 2:
        if op in _INFIX:
            sign, binds, left, right = _INFIX[op]
            return binds, [(args[0], left), sign if sign == r"\," else f" {sign} ", (args[1], right)]
        if op in _PAIRS:
            return _PAIRS[op](args[0], args[1])
    if not call.kwargs and len(args) == 1:
        found = _spell_single(op, args[0])
        if found is not None:
            return found
    if op == "where" and len(args) == 3 and not call.kwargs:
        yes, no = r" & \text{if } ", r" & \text{otherwise}"
        return _POWER, [r"\begin{cases} ", (args[1], 0), yes, (args[0], 0), r" \\ ", (args[2], 0), no, r" \end{cases}"]
    return _ATOM, _spell_function(call)


def _product(left: Expr, right: Expr) -> tuple[int, list[Piece]]:
    scalar = any(isinstance(side, Literal) for side in (left, right))
    sign = r" \cdot " if isinstance(right, Literal) else r"\," if scalar else r" \odot "
    return _PRODUCT, [(left, _PRODUCT), sign, (right, _UNARY)]


def _fraction(left: Expr, right: Expr) -> tuple[int, list[Piece]]:
    return _POWER, [r"\frac{", (left, 0), "}{", (right, 0), "}"]


def _raised(left: Expr, right: Expr) -> tuple[int, list[Piece]]:
    return _POWER, [(left, _ATOM), "^{", (right, 0), "}"]


def _indexed(left: Expr, index: Expr) -> tuple[int, list[Piece]]:
    inside = _commas(index.items) if isinstance(index, Sequence) and index.is_tuple and index.items else [(index, 0)]
    return _ATOM, [(left, _ATOM), "_{[", *inside, "]}"]


def _halved(left: Expr, right: Expr) -> tuple[int, list[Piece]]:
    return _ATOM, [r"\left\lfloor \frac{", (left, 0), "}{", (right, 0), r"} \right\rfloor"]


_PAIRS = {"mul": _product, "div": _fraction, "pow": _raised, "getitem": _indexed, "floor_divide": _halved}


def _spell_single(op: str, arg: Expr) -> tuple[int, list[Piece]] | None:
    if op == "neg":
        return _UNARY, ["-", (arg, _UNARY)]
    if op == "bitwise_not":
        return _UNARY, [r"\lnot ", (arg, _UNARY)]
    if op in _AFTER:
        return _POWER, [(arg, _ATOM), _AFTER[op]]
    if op in _AROUND:
        left, right = _AROUND[op]
        return _ATOM, [left, (arg, 0), right]
    if op in ("ones_like", "zeros_like"):
        digit = "1" if op == "ones_like" else "0"
        return _ATOM, [rf"\mathbf{{{digit}}}_{{", (arg, 0), "}"]
    if op == "sum":
        return _SUM, [r"\sum ", (arg, _PRODUCT)]
    if op == "eye":
        return _ATOM, ["I_{", (arg, 0), "}"]
    return None


def _spell_function(call: Call) -> list[Piece]:
    op = call.op
    title = _WORDS.get(op) or (f"\\{op}" if op in _FUNCTIONS else rf"\operatorname{{{_escaped(op)}}}")
    inside = _commas(call.args)
    for name, value in call.kwargs:
        inside += [", " if inside else "", rf"\mathrm{{{_escaped(name)}}}=", (value, 0)]
    return [title, r"\left(", *inside, r"\right)"]


def _spell_literal(expr: Expr, value: object) -> tuple[int, list[Piece]]:
    if value is Ellipsis:
        return _ATOM, [r"\ldots"]
    if isinstance(value, str):
        return _ATOM, [rf"\text{{{_escaped(value)}}}"]
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if value < 0 else ""
        return (_UNARY if sign else _ATOM), [r"\mathrm{nan}" if math.isnan(value) else sign + r"\infty"]
    if isinstance(value, (bool, type(None))):
        return _ATOM, [rf"\mathrm{{{value}}}"]
    if isinstance(value, complex):
        return _SUM, [to_text(expr).replace("j", r"\,\mathrm{i}")]
    text = to_text(expr)
    mantissa, exponent, power = text.partition("e")
    binds = _PRODUCT if exponent else _UNARY if text.startswith("-") else _ATOM
    return binds, [rf"{mantissa} \cdot 10^{{{int(power)}}}" if exponent else mantissa]
