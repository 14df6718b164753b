r"""An Expr to LaTeX, with mathematical signs, for a paper or a notebook.

`A @ B` is AB, `x * y` between tensors the elementwise product, `x / y` a fraction, `grad(x)` the gradient for x. A sum
along an axis has the letter of the axis below it: `i` for rows, `j` for columns. As in papers, it does not show whether
the axis is kept; a condition that selects or counts is an indicator, `\mathbf{1}[x > 0]`.
"""

from __future__ import annotations

import math
import re

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import (
    OPPOSITES,
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
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|chi|psi|omega"
    "|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega"
)
#: A letter with an accent (`yhat`, `x_bar`), an index (`w_1`, `w1`) or a word for one (`W_out`).
_LETTER = re.compile(rf"({_GREEK}|[A-Za-z])(?:_?(hat|bar|tilde))?(?:_?(\d+)|_([A-Za-z]+))?")
_WORD = re.compile(r"(.*?)(?:_?(\d+))?", re.DOTALL)
#: The letters of axes, from the first, and how ops along axes are shown that LaTeX does not call by their own name.
_AXES = "ijklmnpq"
_ALONG_AXES = {
    "sum": r"\sum", "prod": r"\prod", "amax": r"\max", "amin": r"\min",
    **{name: rf"\operatorname{{{name}}}" for name in ("mean", "softmax", "softmin", "logsumexp", "cumsum")},
}  # fmt: skip


def to_latex(expr: Expr) -> str:
    """Return the LaTeX of an expression, to stand between dollar signs."""
    return render(expr, _spell, r"\left(", r"\right)")


def name_to_latex(name: str) -> str:
    """Return a name in LaTeX: `x` italic, Greek letters, `w1` indexed, words."""
    base, bracket, index = name.partition("[")
    if bracket:
        return f"{{{name_to_latex(base)}}}_{{[{index[:-1]}]}}"
    if found := _LETTER.fullmatch(base):
        letter, accent, digits, word = found.groups()
        shown = letter if len(letter) == 1 else f"\\{letter}"
        shown = rf"\{accent}{{{shown}}}" if accent else shown
        word = word if word is None or len(word) == 1 else rf"\mathrm{{{word}}}"
        return shown + (f"_{{{digits or word}}}" if digits or word else "")
    stem, digits = _WORD.fullmatch(base).groups()  # type: ignore[union-attr]
    return rf"\mathrm{{{_escaped(stem)}}}" + (f"_{{{digits}}}" if digits else "")


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
    found = _spell_along_axes(call)
    if found:
        return found
    if op in ("ones", "zeros") and args and not call.kwargs and not isinstance(args[0], Sequence):
        sizes: list[Piece] = [piece for size in args for piece in (r" \times ", (size, UNARY))]
        found = ATOM, [rf"\mathbf{{{int(op == 'ones')}}}_{{", *sizes[1:], "}"]
    elif not call.kwargs and args and len(args) == _template(op).count("#"):
        found = _spell_infix(op, *args) if len(args) == 2 else _spell_around(op, *args)
    elif not call.kwargs and len(args) == 2:
        found = _spell_pair(op, *args)
    elif op == "einsum" and not call.kwargs:
        found = _spell_einsum(*args)
    elif op == "where" and len(args) == 3 and not call.kwargs:
        if selected := _spell_selection(*args):
            return selected
        yes, no = r" & \text{if } ", r" & \text{otherwise}"
        cases: list[Piece] = [(args[1], 0), yes, (args[0], 0), r" \\ ", (args[2], 0), no]
        found = _POWER, [r"\begin{cases} ", *cases, r" \end{cases}"]
    return found or (ATOM, _spell_function(call))


def _spell_along_axes(call: Call) -> Spelling | None:
    """Spell a sum or a maximum along axes that are written as numbers."""
    title = _ALONG_AXES.get(call.op.rpartition(".")[2])
    given = dict(zip(("input", "dim"), call.args, strict=False)) | dict(call.kwargs)
    axes = _axes_of(given.get("dim"))
    if title is None or axes is None or given.keys() - {"input", "dim", "keepdim"} or len(call.args) > 2:
        return None
    before = rf"{title}_{{{axes}}}"
    if title.startswith((r"\sum", r"\prod")):
        return SUM, [f"{before} ", *_as_number(given["input"], _PRODUCT)]
    return ATOM, [before, r"\left(", (given["input"], 0), r"\right)"]


def _axes_of(dim: Expr | None) -> str | None:
    """Return the letters of axes; None unless each is a number from 0."""
    each = dim.items if isinstance(dim, Sequence) else (dim,)
    numbers = [one.value for one in each if isinstance(one, Literal) and type(one.value) is int]
    known = numbers and len(numbers) == len(each) and all(0 <= one < len(_AXES) for one in numbers)
    return "".join(_AXES[one] for one in numbers) if known else None


def _as_number(expr: Expr, least: int) -> list[Piece]:
    """Return the pieces of an operand, where a condition counts as 0 or 1."""
    if isinstance(expr, Call) and expr.op in OPPOSITES:
        return [r"\mathbf{1}\left[", (expr, 0), r"\right]"]
    return [(expr, least)]


def _spell_selection(condition: Expr, chosen: Expr, other: Expr) -> Spelling | None:
    """Spell `where` with 0 on one side as a product with an indicator."""
    if _is_zero(chosen) and isinstance(condition, Call) and condition.op in OPPOSITES:
        condition, chosen, other = Call(OPPOSITES[condition.op], condition.args), other, chosen
    if not _is_zero(other) or not isinstance(condition, Call) or condition.op not in OPPOSITES:
        return None
    sign = r"\," if isinstance(chosen, Literal) else r" \odot "
    return _PRODUCT, [(chosen, _PRODUCT), sign, *_as_number(condition, 0)]


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value == 0


def _spell_einsum(subscripts: Expr, *operands: Expr) -> Spelling | None:
    """Spell it with indices: `[\\sum_{j} a_{ij} b_{jk}]_{ik}`."""
    text = subscripts.value if isinstance(subscripts, Literal) else None
    found = re.fullmatch(r"([a-zA-Z,]+)->([a-zA-Z]*)", text.replace(" ", "")) if isinstance(text, str) else None
    each = found[1].split(",") if found else []
    if found is None or len(each) != len(operands):
        return None
    summed = "".join(dict.fromkeys(letter for letters in each for letter in letters if letter not in found[2]))
    factors: list[Piece] = [rf"\sum_{{{summed}}} " if summed else ""]
    for operand, letters in zip(operands, each, strict=True):
        factors += [r"\," if len(factors) > 1 else "", "{", (operand, ATOM), f"}}_{{{letters}}}"]
    if not found[2]:
        return SUM, factors
    return ATOM, [r"\left[", *factors, rf"\right]_{{{found[2]}}}"]


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
    if op == "sum":
        return SUM, [before, *_as_number(operand, _PRODUCT)]
    return UNARY, [before, (operand, UNARY)]


def _spell_pair(op: str, left: Expr, right: Expr) -> Spelling | None:
    if op == "mul":
        scalar = isinstance(left, Literal)
        sign = r" \cdot " if isinstance(right, Literal) else r"\," if scalar else r" \odot "
        return _PRODUCT, [*_as_number(left, _PRODUCT), sign, *_as_number(right, UNARY)]
    if op == "div":
        if isinstance(left, Call) and left.op == "neg" and len(left.args) == 1:
            return UNARY, ["-", (Call("div", (left.args[0], right)), UNARY)]
        return _POWER, [r"\frac{", (left, 0), "}{", (right, 0), "}"]
    if op == "outer":
        infix = INFIX["matmul"]
        return infix.precedence, [(left, infix.left_precedence), r"\,", (right, ATOM), r"^{\top}"]
    if op == "linalg.solve":
        infix = INFIX["matmul"]
        return infix.precedence, [(left, ATOM), r"^{-1}\,", (right, infix.right_precedence)]
    if op == "floor_divide":
        return ATOM, [r"\left\lfloor \frac{", (left, 0), "}{", (right, 0), r"} \right\rfloor"]
    if op == "pow" and isinstance(right, Literal) and right.value == 0.5:
        return ATOM, [r"\sqrt{", (left, 0), "}"]
    if op in ("pow", "linalg.matrix_power"):
        return _POWER, [(left, ATOM), "^{", (right, 0), "}"]
    if op == "getitem":
        index = right.items if isinstance(right, Sequence) and right.is_tuple and right.items else (right,)
        return ATOM, ["{", (left, ATOM), "}_{[", *commas(index), "]}"]
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
    if mantissa == "1" and exponent:
        return _POWER, [rf"10^{{{int(power)}}}"]
    return binds, [rf"{mantissa} \cdot 10^{{{int(power)}}}" if exponent else mantissa]
