"""Formulas as MathML, which browsers draw without a script.

The input is exactly the LaTeX that `language.expr.latex` writes. Nothing recurses, and every letter is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from gradcheck.errors import GradcheckError
from gradcheck.language.expr.latex import name_to_latex, to_latex
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.reports.safe_text import plain

#: The longest LaTeX that is typeset; browsers limit the nesting.
MAX_LATEX_LENGTH = 3000
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|\d+(?:\.\d*)?|\s+|.", re.DOTALL)
#: Contents that make fences grow.
_TALL = re.compile("<m(frac|sqrt|table|over)>")
_OPERATORS = {
    "\\cdot": "·", "\\odot": "⊙", "\\le": "≤", "\\ge": "≥", "\\ne": "≠", "\\lor": "∨", "\\land": "∧", "\\lnot": "¬",
    "\\sum": "∑", "\\prod": "∏", "\\bmod": "mod", "\\top": "⊤", "\\dagger": "†", "\\nabla": "∇", "\\ldots": "…",
    "-": "−",
}  # fmt: skip
_FENCES = {"\\lfloor": "⌊", "\\rfloor": "⌋", "\\lceil": "⌈", "\\rceil": "⌉", "\\|": "‖", "|": "|"}
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "ϕ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
_NAMES = {f"\\{name}": sign for name, sign in _GREEK.items()} | {"\\infty": "∞"}
_UPRIGHT = frozenset({"\\mathrm", "\\operatorname", "\\text", "\\mathtt", "\\mathbf"})
#: Commands that take groups, and how many.
_ARGUMENT_COUNTS = {"\\frac": 2, "\\sqrt": 1, "\\overline": 1, "\\hat": 1, "\\bar": 1, "\\tilde": 1}
_ACCENTS = {"\\overline": "‾", "\\hat": "^", "\\bar": "‾", "\\tilde": "~"}


def formula_to_mathml(text: str, left: str = "") -> str:
    """Return the gradient of `left` as a `math` element; "" if unreadable."""
    try:
        return expr_to_mathml(parse(text), left)
    except GradcheckError:
        return ""


def expr_to_mathml(expr: Expr, left: str = "") -> str:
    """Return a `math` element for a parsed expression; empty if too long."""
    try:
        latex = to_latex(expr)
    except TypeError:
        return ""
    if left:
        latex = rf"\nabla_{{{name_to_latex(left)}}}={latex}"
    return latex_to_mathml(latex) if len(latex) <= MAX_LATEX_LENGTH else ""


def latex_to_mathml(latex: str) -> str:
    """Return a `math` element for LaTeX of `language.expr.latex`."""
    reader = _LatexReader(latex)
    return f"<math>{reader.read()}</math>"


@dataclass(slots=True)
class _Frame:
    """An open group, pair of fences, or table of `cases`.

    `pending_commands` still take groups: each has its name, how many groups it takes, and the groups so far.
    """

    kind: str
    opening: str = ""
    items: list[str] = field(default_factory=list)
    pending_commands: list[tuple[str, int, list[str]]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=lambda: [[]])


class _LatexReader:
    def __init__(self, latex: str) -> None:
        self.tokens: Iterator[str] = iter(_TOKEN.findall(latex))
        self.frames = [_Frame("row")]

    def read(self) -> str:
        for token in self.tokens:
            self._token(token)
        return "".join(self.frames[0].items)

    def _token(self, token: str) -> None:
        top = self.frames[-1]
        if token == "{":
            self.frames.append(_Frame("group"))
        elif token == "}":
            self._append_item(_row(self.frames.pop().items)) if len(self.frames) > 1 else None
        elif token in "^_" and token:
            base = top.items.pop() if top.items else "<mrow></mrow>"
            top.pending_commands.append((token, 2, [base]))
        elif token in _ARGUMENT_COUNTS:
            top.pending_commands.append((token, _ARGUMENT_COUNTS[token], []))
        elif token in _UPRIGHT:
            self._append_item(_upright(token, self._read_raw_group()))
        elif token in ("\\left", "\\right"):
            self._fence(token == "\\left")
        elif token in ("\\begin", "\\end"):
            self._cases(self._read_raw_group() == "cases" and token == "\\begin")
        elif top.kind == "cases" and token in ("&", "\\\\"):
            self._cell(new_row=token != "&")
        elif not token.isspace():
            self._append_item(_atom(token))

    def _append_item(self, item: str) -> None:
        """Give an item to the pending command, and its result to the one before."""
        top = self.frames[-1]
        while top.pending_commands:
            command, needs, args = top.pending_commands[-1]
            args.append(item)
            if len(args) < needs:
                return
            top.pending_commands.pop()
            item = _built(command, args)
        top.items.append(item)

    def _fence(self, opens: bool) -> None:
        sign = next(self.tokens, "")
        sign = _FENCES.get(sign, sign.removeprefix("\\"))
        if opens:
            self.frames.append(_Frame("fence", sign))
        elif len(self.frames) > 1:
            frame = self.frames.pop()
            inside = "".join(frame.items)
            grows = "" if _TALL.search(inside) else ' stretchy="false"'
            ends = [f"<mo{grows}>{escape(one)}</mo>" for one in (frame.opening, sign)]
            self._append_item(f"<mrow>{ends[0]}{inside}{ends[1]}</mrow>")

    def _cases(self, begins: bool) -> None:
        if begins:
            self.frames.append(_Frame("cases"))
            return
        self._cell(new_row=False)
        rows = "".join(f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>" for row in self.frames.pop().rows)
        self._append_item(f'<mrow><mo fence="true">{{</mo><mtable columnalign="left left">{rows}</mtable></mrow>')

    def _cell(self, new_row: bool) -> None:
        top = self.frames[-1]
        top.rows[-1].append("".join(top.items))
        top.items = []
        if new_row:
            top.rows.append([])

    def _read_raw_group(self) -> str:
        """Return the text of the next group, with its escapes resolved."""
        depth, parts = 0, []
        for token in self.tokens:
            depth += (token == "{") - (token == "}")
            if not depth:
                break
            if token in "{}":
                continue
            parts.append(_RAW.get(token, token[1:] if token.startswith("\\") else token))
        return "".join(parts)


_RAW = {"\\textbackslash": "\\", "\\textasciicircum": "^", "\\textasciitilde": "~"}


def _row(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"


def _upright(command: str, text: str) -> str:
    told = escape(plain(text))
    if command == "\\text":
        return f"<mtext>{told.replace(' ', chr(0xA0))}</mtext>"
    if command == "\\mathbf":
        return f'<mn class="bold">{told}</mn>'
    return f'<mi mathvariant="normal">{told}</mi>' if len(text) == 1 else f"<mi>{told}</mi>"


def _atom(token: str) -> str:
    if token in _NAMES:
        return f"<mi>{_NAMES[token]}</mi>"
    if token in _OPERATORS:
        return f"<mo>{_OPERATORS[token]}</mo>"
    if token == "\\,":
        return '<mspace width="0.17em"/>'
    if token.startswith("\\"):
        return f"<mi>{escape(token[1:])}</mi>"
    if token[0].isdigit():
        return f"<mn>{escape(token)}</mn>"
    return f"<mi>{escape(token)}</mi>" if token.isalpha() else f"<mo>{escape(token)}</mo>"


def _built(command: str, args: list[str]) -> str:
    match command:
        case "^":
            return f"<msup>{args[0]}{args[1]}</msup>"
        case "_":
            return f"<msub>{args[0]}{args[1]}</msub>"
        case "\\frac":
            return f"<mfrac>{args[0]}{args[1]}</mfrac>"
        case "\\sqrt":
            return f"<msqrt>{args[0]}</msqrt>"
    grows = "true" if command == "\\overline" else "false"
    return f'<mover>{args[0]}<mo stretchy="{grows}">{_ACCENTS[command]}</mo></mover>'
