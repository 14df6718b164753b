"""An Expr to LaTeX, with mathematical signs, for a paper or a notebook.

`A @ B` is AB, `x * y` between tensors the elementwise product, `x / y` a fraction, `grad(x)` the gradient for x.
"""

from __future__ import annotations

import math
import re

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import (
    Attribute,
    Call,
    Derivative,
    Dtype,
    Expr,
    Gradient,
    Literal,
    Name,
    Sequence,
    Slice,
)
from gradcheck.language.expr.printer import ATOM, INFIX, SUM, UNARY, Piece, Spelling, commas, render, to_text

#: The precedence of other kinds of node, on the printer's scale.
_COMPARISON, _PRODUCT, _POWER = 1, 6, 8
#: LaTeX's own names of functions.
_FUNCTIONS = frozenset({"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "det", "max", "min"})
_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega"
)


def to_latex(expr: Expr) -> str:
    """Return the LaTeX of an expression, to stand between dollar signs."""
    return render(expr, _spell, r"\left(", r"\right)")


def name_to_latex(name: str) -> str:
    """Return a name in LaTeX: `x` italic, Greek letters, `w1` indexed, words."""
    base, bracket, index = name.partition("[")
    if bracket:
        return f"{name_to_latex(base)}_{{[{index[:-1]}]}}"
    stem = base.rstrip("0123456789")
    digits = base[len(stem) :]
    stem = stem.removesuffix("_") if digits else stem
    if _GREEK.fullmatch(stem):
        shown = f"\\{stem}"
    elif len(stem) == 1 and stem.isalpha():
        shown = stem
    else:
        shown = rf"\mathrm{{{_escaped(stem)}}}"
    return shown + (f"_{{{digits}}}" if digits else "")


def _escaped(text: str) -> str:
    signs = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return "".join(signs.get(char) or (f"\\{char}" if char in "_%&#${}" else char) for char in text)


def _spell(expr: Expr) -> Spelling:
    match expr:
        case Name(name):
            return ATOM, [name_to_latex(name)]
        case Literal(value):
            return _spell_literal(expr, value)
        case Call():
            return _spell_call(expr)
        case Gradient(name):
            return ATOM, [rf"\nabla_{{{name_to_latex(name)}}}"]
        case Derivative():
            return ATOM, [_spell_derivative(expr)]
        case Attribute(value, name):
            return ATOM, [rf"\operatorname{{{name}}}\left(", (value, 0), r"\right)"]
        case Sequence(items, is_tuple):
            left, right = (r"\left(", r"\right)") if is_tuple else (r"\left[", r"\right]")
            return ATOM, [left, *commas(items), right]
        case Dtype(name):
            return ATOM, [rf"\mathtt{{{name}}}"]
        case Slice(start, stop, step):
            bounds = (start, stop) if step is None else (start, stop, step)
            shown: list[list[Piece]] = [[] if bound is None else [(bound, _COMPARISON)] for bound in bounds]
            return ATOM, [piece for part in shown for piece in (":", *part)][1:]
    raise TypeError(f"{type(expr).__name__} is no expression")


def _spell_derivative(expr: Derivative) -> str:
    """Return `\\frac{\\partial y}{\\partial x}`, or its second-order form."""
    of, *by = map(name_to_latex, expr.tensors)
    if expr.kind == "jacobian":
        return rf"\frac{{\partial {of}}}{{\partial {by[0]}}}"
    below = rf"\partial {by[0]}^2" if len(by) == 1 else rf"\partial {by[0]}\,\partial {by[1]}"
    return rf"\frac{{\partial^2 {of}}}{{{below}}}"


def _spell_call(call: Call) -> Spelling:
    op, args = call.op, call.args
    found = None
    if op in ("ones", "zeros") and args and not call.kwargs and not isinstance(args[0], Sequence):
        sizes: list[Piece] = [piece for size in args for piece in (r" \times ", (size, UNARY))]
        found = ATOM, [rf"\mathbf{{{int(op == 'ones')}}}_{{", *sizes[1:], "}"]
    elif not call.kwargs and args and len(args) == _template(op).count("#"):
        found = _spell_infix(op, *args) if len(args) == 2 else _spell_around(op, *args)
    elif not call.kwargs and len(args) == 2:
        found = _spell_pair(op, *args)
    elif op == "where" and len(args) == 3 and not call.kwargs:
        yes, no = r" & \text{if } ", r" & \text{otherwise}"
        cases: list[Piece] = [(args[1], 0), yes, (args[0], 0), r" \\ ", (args[2], 0), no]
        found = _POWER, [r"\begin{cases} ", *cases, r" \end{cases}"]
    return found or (ATOM, _spell_function(call))


def _template(op: str) -> str:
    entry = lookup(op)
    return "" if entry is None else entry.latex


def _spell_infix(op: str, left: Expr, right: Expr) -> Spelling:
    """Spell a sign between operands; one that Python lacks binds like `@`."""
    infix = INFIX.get(op, INFIX["matmul"])
    sign = _template(op).strip("#")
    return infix.precedence, [(left, infix.left_precedence), sign, (right, infix.right_precedence)]


def _spell_around(op: str, operand: Expr) -> Spelling:
    """Spell delimiters around one operand, an exponent, or a sign before it."""
    before, _, after = _template(op).partition("#")
    if before and after:
        return ATOM, [before, (operand, 0), after]
    if after:
        return _POWER, [(operand, ATOM), after]
    least, binds = (_PRODUCT, SUM) if op == "sum" else (UNARY, UNARY)
    return binds, [before, (operand, least)]


def _spell_pair(op: str, left: Expr, right: Expr) -> Spelling | None:
    if op == "mul":
        scalar = isinstance(left, Literal)
        sign = r" \cdot " if isinstance(right, Literal) else r"\," if scalar else r" \odot "
        return _PRODUCT, [(left, _PRODUCT), sign, (right, UNARY)]
    if op == "div":
        return _POWER, [r"\frac{", (left, 0), "}{", (right, 0), "}"]
    if op == "outer":
        infix = INFIX["matmul"]
        return infix.precedence, [(left, infix.left_precedence), r"\,", (right, ATOM), r"^{\top}"]
    if op == "linalg.solve":
        infix = INFIX["matmul"]
        return infix.precedence, [(left, ATOM), r"^{-1}\,", (right, infix.right_precedence)]
    if op == "floor_divide":
        return ATOM, [r"\left\lfloor \frac{", (left, 0), "}{", (right, 0), r"} \right\rfloor"]
    if op in ("pow", "linalg.matrix_power"):
        return _POWER, [(left, ATOM), "^{", (right, 0), "}"]
    if op == "getitem":
        index = right.items if isinstance(right, Sequence) and right.is_tuple and right.items else (right,)
        return ATOM, [(left, ATOM), "_{[", *commas(index), "]}"]
    return None


def _spell_function(call: Call) -> list[Piece]:
    op = call.op
    name, template = op.rpartition(".")[2], _template(op)
    if name in _FUNCTIONS:
        title = f"\\{name}"
    else:
        title = template if template and "#" not in template else rf"\operatorname{{{_escaped(name)}}}"
    inside = commas(call.args)
    for name, value in call.kwargs:
        inside += [", " if inside else "", rf"\mathrm{{{_escaped(name)}}}=", (value, 0)]
    return [title, r"\left(", *inside, r"\right)"]


def _spell_literal(expr: Expr, value: object) -> Spelling:
    if value is Ellipsis:
        return ATOM, [r"\ldots"]
    if isinstance(value, str):
        return ATOM, [rf"\text{{{_escaped(value)}}}"]
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if value < 0 else ""
        return (UNARY if sign else ATOM), [r"\mathrm{nan}" if math.isnan(value) else sign + r"\infty"]
    if isinstance(value, (bool, type(None))):
        return ATOM, [rf"\mathrm{{{value}}}"]
    if isinstance(value, complex):
        return SUM, [to_text(expr).replace("j", r"\,\mathrm{i}")]
    text = to_text(expr)
    mantissa, exponent, power = text.partition("e")
    binds = _PRODUCT if exponent else UNARY if text.startswith("-") else ATOM
    return binds, [rf"{mantissa} \cdot 10^{{{int(power)}}}" if exponent else mantissa]
