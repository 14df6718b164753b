"""Sums by einsum as products of matrices and vectors, without ones.

The gradients of einsum are such sums.
"""

from __future__ import annotations

import re

from gradcheck.language.expr.nodes import Call, Expr, Literal, Sequence
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.product import is_call

_EQUATION = re.compile(r"\s*([A-Za-z,]*)\s*->\s*([A-Za-z]*)\s*")


def without_ones(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `einsum('ij,ij->i', ones_like(x), y)` as `einsum('ij->i', y)`."""
    read = _read(node, know)
    if read is None or len(read[0]) < 2:
        return None
    terms, operands, output = read
    for place, (labels, operand) in enumerate(zip(terms, operands, strict=True)):
        others = [*terms[:place], *terms[place + 1 :]]
        if is_call(operand, "ones_like", 1) and set(labels) <= set("".join(others)):
            left = (*operands[:place], *operands[place + 1 :])
            return Call("einsum", (Literal(f"{','.join(others)}->{output}"), *left))
    return None


def products_by_name(node: Expr, know: PartProperties) -> Expr | None:
    """Rewrite `einsum('ij,jk->ik', a, b)` as `a @ b`, `'ij->ji'` as `a.T`."""
    read = _read(node, know)
    if read is None:
        return None
    terms, operands, output = read
    if len(operands) == 1:
        return _of_one(terms[0], operands[0], output)
    return _of_two(terms, operands, output) if len(operands) == 2 else None


def _read(node: Expr, know: PartProperties) -> tuple[list[str], tuple[Expr, ...], str] | None:
    """Return the labels of each operand, the operands and the result's labels.

    Returns None if a label occurs twice in an operand, or has two sizes.
    """
    if not isinstance(node, Call) or node.op != "einsum" or node.kwargs or len(node.args) < 2:
        return None
    equation, *operands = node.args
    written = equation.value if isinstance(equation, Literal) else None
    found = _EQUATION.fullmatch(written) if isinstance(written, str) else None
    if found is None or any(isinstance(operand, Sequence) for operand in operands):
        return None
    terms, output = found[1].split(","), found[2]
    if len(terms) != len(operands) or any(len(set(term)) < len(term) for term in terms):
        return None
    shapes = [know.shapes(operand) for operand in operands]
    for at in range(len(shapes[0] or ())):
        sizes: dict[str, int] = {}
        for term, shape in zip(terms, shapes, strict=True):
            if shape is None or len(shape[at]) != len(term):
                return None
            if any(sizes.setdefault(label, size) != size for label, size in zip(term, shape[at], strict=True)):
                return None
    return (terms, tuple(operands), output) if all(shape is not None for shape in shapes) else None


def _of_one(labels: str, operand: Expr, output: str) -> Expr | None:
    if labels == output:
        return operand
    if len(labels) == 2 and output == labels[::-1]:
        return Call("T", (operand,))
    kept = "".join(label for label in labels if label in output)
    if kept != output or len(labels) - len(kept) != 1:
        return None
    gone = next(place for place, label in enumerate(labels) if label not in output)
    return Call("sum", (operand,), (("dim", Literal(gone)),)) if kept else Call("sum", (operand,))


def _of_two(terms: list[str], operands: tuple[Expr, ...], output: str) -> Expr | None:
    """Return the product of two: of matrices, batches, vectors, or elements."""
    first, second = terms
    if first == second == output:
        return Call("mul", operands)
    batch = "".join(label for label in first if label in second and label in output)
    summed = [label for label in first if label in second and label not in output]
    if not all(labels.startswith(batch) for labels in (first, second, output)):
        return None
    rest = [labels[len(batch) :] for labels in (first, second)]
    if any(label not in output and label not in summed for label in "".join(rest)):
        return None
    if not summed and not batch and len(first) == len(second) == 1:
        turned = output != first + second
        return Call("outer", operands[::-1] if turned else operands)
    if len(summed) != 1 or not all(len(labels) == 2 or (len(labels) == 1 and not batch) for labels in rest):
        return None
    free = [labels.replace(summed[0], "") for labels in rest]
    order = (0, 1) if output == batch + free[0] + free[1] else (1, 0)
    left, right = order
    transpose = "mT" if batch else "T"
    a = operands[left] if rest[left].endswith(summed[0]) else Call(transpose, (operands[left],))
    b = operands[right] if rest[right].startswith(summed[0]) else Call(transpose, (operands[right],))
    return Call("matmul", (a, b))
