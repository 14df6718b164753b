"""An explained case as text, as YAML for a case file, or as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.derivation import DerivedFormula, Explanation
from gradcheck.checks.derivative_explanation import ExplainedDerivative
from gradcheck.language.case import Case, Claim
from gradcheck.language.case_writer import formula_lines, scalar
from gradcheck.language.expr.latex import name_to_latex, to_latex
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.syntax import MAX_LENGTH
from gradcheck.reports.number_formats import format_error
from gradcheck.reports.phrases import say
from gradcheck.reports.safe_text import count, plain, truncate, wrap

#: The elements at either end, and in total, and the characters of a tensor's values.
_EDGE, _THRESHOLD, _VALUES = 3, 16, 60


def render(explanation: Explanation, format: str, width: int = 80) -> str:
    """Return the explanation in one of `FORMATS`, ending in a newline."""
    return _joined(FORMATS[format](explanation, width))


def _joined(lines: Iterable[str]) -> str:
    """Return lines as one text, without commands to a terminal."""
    return "".join(plain(line).rstrip() + "\n" for some in lines for line in some.split("\n"))


def _text(e: Explanation, width: int) -> Iterator[str]:
    yield plain(e.case.id)
    for title, names in (("inputs", e.case.inputs), ("constants", e.case.constants)):
        if names:
            yield ""
            yield title
            for name in names:
                array = e.problem.inputs.get(name, e.problem.constants.get(name))
                yield f"  {plain(name)} {_array_text(array)}"
    yield ""
    yield "graph"
    for name, claim in e.case.graph.items():
        yield from wrap(f"{plain(name)} = {plain(claim.text)}", width, "  ", "      ")
        for part, array in e.values.items():
            if part == name or part.startswith(f"{name}["):
                yield f"    {'' if part == name else f'{part} '}{_array_text(array)}"
    yield ""
    if e.why_not:
        yield from wrap(f"no gradients: {plain(say(e.why_not))}", width, "", "  ")
        return
    yield from _gradients(e, width)


def _gradients(e: Explanation, width: int) -> Iterator[str]:
    step = e.case.steps[e.step or 0]
    place = f", step {(e.step or 0) + 1}" if len(e.case.steps) > 1 else ""
    yield f"gradients, from {', '.join(map(plain, step.roots))}{place}"
    for name, expr in e.let.items():
        yield from wrap(f"let {name} = {to_text(expr)}", width, "  ", "      ")
    for formula in e.formulas:
        subject = f"{plain(formula.tensor)} {_shape(formula.shape)}"
        yield from wrap(f"{subject} = {to_text(formula.expr)}", width, "  ", "      ")
        for remark in (*_condition_lines(formula), *_remarks(formula)):
            yield f"      ({remark})"
    for name in e.incoming:
        yield f"  {plain(name)} comes in"
    yield ""
    yield from wrap(evidence_text(e), width, "", "")


def formula_texts(e: Explanation) -> Iterator[tuple[str, str]]:
    """Yield steps, as `let t1`, and gradients, by tensor, each with its text."""
    for name, expr in e.let.items():
        yield f"let {name}", to_text(expr)
    for formula in e.formulas:
        remarks = "".join(f"  ({remark})" for remark in (*_condition_lines(formula), *_remarks(formula)))
        yield formula.tensor, f"{to_text(formula.expr)}{remarks}"


def remarks_of(formula: DerivedFormula) -> list[str]:
    """Return the conditions of a formula, and its other remarks."""
    return [*_condition_lines(formula), *_remarks(formula)]


def _condition_lines(formula: DerivedFormula) -> Iterator[str]:
    """Yield where the formula holds, if a guard was left out of it."""
    if formula.nonzero:
        yield f"where {' and '.join(f'{to_text(part)} != 0' for part in formula.nonzero)}"


def _remarks(formula: DerivedFormula) -> Iterator[str]:
    if formula.is_case_specific:
        yield "for these numbers and sizes alone"
    if len(to_text(formula.expr)) > MAX_LENGTH:
        yield "too long for a case file: give parts of the graph names of their own"
    if not formula.holds_accumulated:
        yield "of this pass alone: other steps change what is left at the end"


def evidence_text(e: Explanation) -> str:
    """Return what supports the formulas."""
    points = max((formula.points for formula in e.formulas), default=0)
    proved = [formula.proof_bound for formula in e.formulas if formula.proof_bound is not None]
    text = f"Each was read back from this text and equals the core's gradient at {count(points, 'point')}"
    if proved:
        risk = format_error(max(proved))
        at = f" at {', '.join(f'{name} = {size}' for name, size in e.proved_at.items())}" if e.proved_at else ""
        text += f"; {len(proved)} of {len(e.formulas)} proved for any values{at} (chance of a false proof below {risk})"
    return f"{text}. They are derived from gradcheck's own rules, so they are no independent check of these."


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _array_text(array: np.ndarray | None) -> str:
    if array is None:
        return ""
    with np.printoptions(threshold=_THRESHOLD, edgeitems=_EDGE, precision=4, linewidth=10**6):
        text = " ".join(np.array2string(array, separator=", ").split())
    text = truncate(text, _VALUES)
    return f"{_shape(array.shape)} {text}" if array.shape else text


def _yaml(e: Explanation, width: int) -> Iterator[str]:
    yield f"# {plain(e.case.id)}"
    if e.why_not:
        yield f"# no gradients: {plain(say(e.why_not))}"
        return
    yield from formula_lines(*case_with_formulas(e))
    yield from unusable_formulas(e)


def case_with_formulas(e: Explanation) -> tuple[Case, dict[str, str]]:
    """Return the case with its usable formulas, and where these hold."""
    kept = [formula for formula in e.formulas if not any(_remarks(formula))]
    formulas = {formula.tensor: (Claim.of(formula.expr),) for formula in kept}
    case = replace(e.case.without_claims(), let={name: Claim.of(e.let[name]) for name in e.let}, formulas=formulas)
    used = {step for formula in kept for step in case.let_steps_of(formula.expr)}
    remarks = {formula.tensor: text for formula in kept for text in _condition_lines(formula)}
    return replace(case, let={name: claim for name, claim in case.let.items() if name in used}), remarks


def unusable_formulas(e: Explanation) -> Iterator[str]:
    """Yield comments on formulas that no case can state."""
    for formula in e.formulas:
        for remark in _remarks(formula):
            yield f"# {plain(formula.tensor)}: {to_text(formula.expr)}  ({remark})"


def _latex(e: Explanation, width: int) -> Iterator[str]:
    yield f"% {plain(e.case.id)}"
    yield r"\begin{align*}"
    lines = [(name_to_latex(name), claim.expr) for name, claim in e.case.graph.items()]
    lines += [(name_to_latex(name), expr) for name, expr in e.let.items()]
    lines += [(rf"\nabla_{{{name_to_latex(formula.tensor)}}}", formula.expr) for formula in e.formulas]
    yield " \\\\\n".join(f"  {left} &= {to_latex(expr)}" for left, expr in lines)
    yield r"\end{align*}"
    for formula in e.formulas:
        for remark in _condition_lines(formula):
            yield f"% {plain(formula.tensor)} {remark}"
    if e.why_not:
        yield f"% no gradients: {plain(say(e.why_not))}"


def render_derivative(e: ExplainedDerivative, format: str, width: int = 80) -> str:
    """Return a Jacobian or a Hessian in one of `FORMATS`."""
    of, *by = e.term.tensors
    lines = [f"{'#' if format == 'yaml' else '%' if format == 'latex' else ''} {plain(e.case.id)}".strip()]
    if e.expr is None:
        mark = {"yaml": "# ", "latex": "% "}.get(format, "")
        lines += wrap(f"no formula of {e.term.name}: {plain(say(e.why_not))}", width, mark, f"{mark}  ")
    elif format == "yaml":
        key, text = scalar(", ".join(by)), scalar(to_text(e.expr))
        lines += [f"{e.term.kind}s:", f"  {scalar(of)}:", f"    {key}: {text}"]
    elif format == "latex":
        lines += [r"\begin{align*}", f"  {to_latex(e.term)} &= {to_latex(e.expr)}", r"\end{align*}"]
    else:
        lines += ["", *wrap(f"{e.term.name} {_shape(e.shape)} = {to_text(e.expr)}", width, "  ", "      "), ""]
        lines += wrap(_derivative_evidence(e), width, "", "")
    return _joined(lines)


def _derivative_evidence(e: ExplainedDerivative) -> str:
    text = f"It was read back from this text, and holds as a claim at {count(e.points, 'point')}"
    if e.proof is not None:
        text += f"; proved for any values (chance of a false proof below {format_error(e.proof['bound'])})"
    return f"{text}. It is derived from gradcheck's own rules, so it is no independent check of these."


FORMATS: dict[str, Callable[[Explanation, int], Iterator[str]]] = {"text": _text, "yaml": _yaml, "latex": _latex}
