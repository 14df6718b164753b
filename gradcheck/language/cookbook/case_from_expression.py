"""A case from an expression alone: its tensors' shapes and numbers.

Every dimension begins with a size of its own. Part by part, in order of computation, as few sizes as possible are made
equal until the part can be computed. No rule about a single op is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement, count, islice, product

import numpy as np

from gradcheck.errors import GradcheckError, UsageError
from gradcheck.language.case import Case
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import free_names, gradient_names, postorder
from gradcheck.language.loader import load_text

#: Names of sizes, and the sizes: primes, so that none is a product of others.
_WORDS = "nmkpqrstuv"
_SIZES = tuple(n for n in range(2, 230) if all(n % d for d in range(2, n)))
#: Sizes that an op may require, as a cross product does.
_ASKED = ("3", "2", "4")
#: The most ranks tried, and the most sizes made equal for a part.
_WAYS, _MERGES = 60, 3
#: Creators, tried until the result is finite; the last one is for a definite matrix.
_DRAWN = ("randn({sizes})", "uniform(0.2, 0.8, [{sizes}])", "uniform(1.5, 3, [{sizes}])")
_DEFINITE = "diag(uniform(1, 2, [{size}])) + 0.1 * ones({sizes})"

#: The names of each tensor's dimensions.
Shapes = dict[str, tuple[str, ...]]


def case_from_expression(text: str, expr: Expr, given: Mapping[str, Sequence[str]]) -> Case:
    """Return a case of an expression with fitting shapes; raise UsageError."""
    names = ", ".join(free_names(expr))
    if not names or gradient_names(expr):
        raise UsageError("an expression of tensors is looked up, such as x @ A @ x, and no gradient stands in it")
    shapes = _shapes(expr, given)
    if shapes is None:
        raise UsageError(f"no shapes of its tensors ({names}) go together", hint="state them: --shape A=n,m")
    root = next(name for name in ("f", "y", "out", "result") if name not in shapes)
    dims = ", ".join(f"{word}: {size}" for word, size in _sizes(shapes).items() if not word.isdigit())
    for drawn in (*_DRAWN, _DEFINITE):
        inputs = "".join(f"  {name}: {_creator(shape, drawn)}\n" for name, shape in shapes.items())
        graph = text.replace("'", "''")
        whole = f"name: {root}\ndims: {{{dims}}}\ninputs:\n{inputs}graph:\n  {root}: '{graph}'\n"
        found = _finite(whole, root)
        if found is not None:
            return found
    raise UsageError("it is defined for none of the numbers that were tried")


def _creator(shape: Sequence[str], drawn: str) -> str:
    if drawn == _DEFINITE and (len(shape) != 2 or shape[0] != shape[1]):
        drawn = _DRAWN[0]
    sizes = ", ".join(shape)
    return drawn.format(sizes=sizes or "[]", size=shape[0] if shape else "").replace("[[]]", "[]")


def _finite(text: str, root: str) -> Case | None:
    """Return the case of a text if its result is finite, else None."""
    from gradcheck.language.sampling import draw

    (case, *_), errors = load_text(text, "cookbook")
    if errors:
        raise errors[0]
    problem = draw(case)
    value = evaluate(case.graph[root].expr, {**problem.inputs, **problem.sizes})
    if isinstance(value, tuple):
        raise UsageError("it comes to several tensors", hint="index it: max(x, dim=1)[0]")
    value = np.asarray(value)
    if not np.isfinite(value).all():
        return None
    if value.size != 1:
        (case, *_), errors = load_text(f"{text}backward: {{{root}: 'randn_like({root})'}}\n", "cookbook")
    return case


def _shapes(expr: Expr, given: Mapping[str, Sequence[str]]) -> Shapes | None:
    for ranks in _ranks(expr, given):
        taken = {*ranks, *(word for shape in given.values() for word in shape)}
        free = (word for word in chain(_WORDS, (f"d{i}" for i in count())) if word not in taken)
        shapes = {n: tuple(given[n] if n in given else islice(free, r)) for n, r in ranks.items()}
        found = _compatible_shapes(expr, shapes)
        if found is not None:
            return found
    return None


def _ranks(expr: Expr, given: Mapping[str, Sequence[str]]) -> Iterator[dict[str, int]]:
    """Yield ranks: capital letters as matrices and others as vectors first."""
    names = list(free_names(expr))
    choices = [
        (len(given[name]),) if name in given else (2, 3, 1, 0) if name[:1].isupper() else (1, 0, 2, 3) for name in names
    ]
    for way in islice(_choices_by_total([len(choice) for choice in choices]), _WAYS):
        yield {name: choice[i] for name, choice, i in zip(names, choices, way, strict=True)}


def _choices_by_total(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield one choice for each count, by the total of their numbers, lazily."""
    for total in range(sum(counts) - len(counts) + 1):
        picked = map(Counter, combinations_with_replacement(range(len(counts)), total))
        yield from sorted(
            tuple(of[i] for i in range(len(counts))) for of in picked if all(of[i] < counts[i] for i in of)
        )


def _sizes(shapes: Shapes) -> dict[str, int]:
    words = dict.fromkeys(word for shape in shapes.values() for word in shape)
    if len(words) > len(_SIZES):
        raise UsageError(f"it has more than {len(_SIZES)} sizes that may differ", hint="state some: --shape x=n")
    return {word: int(word) if word.isdigit() else size for word, size in zip(words, _SIZES, strict=False)}


def _compatible_shapes(expr: Expr, shapes: Shapes) -> Shapes | None:
    sizes = _sizes(shapes)
    for part in postorder(expr):
        if isinstance(part, Call) and not _fits(part, shapes, sizes):
            words = list(dict.fromkeys(w for n in free_names(part) for w in shapes[n]))
            written = _literal_sizes(part)
            sizes |= {size: int(size) for size in (*written, *_ASKED)}
            ways = chain(_merged(shapes, words, written), *(_merged(shapes, words, (size,)) for size in _ASKED))
            merged = next((one for one in ways if _fits(part, one, sizes)), None)
            if merged is None:
                return None
            shapes = merged
    return shapes


def _literal_sizes(part: Expr) -> list[str]:
    """Return sizes written in a part, as in `layer_norm(x, (5,))`."""
    values = (node.value for node in part.walk() if isinstance(node, Literal))
    return list(dict.fromkeys(str(v) for v in values if isinstance(v, int) and 1 < v < 100))


def _merged(shapes: Shapes, words: Sequence[str], written: Sequence[str] = ()) -> Iterator[Shapes]:
    """Yield the shapes with one size, then more, made equal to others."""
    pairs = [*combinations(words, 2), *product(written, reversed(words))]
    for number in range(1, _MERGES + 1):
        for chosen in combinations(pairs, number) if len(pairs) ** number < 4000 else ():
            called = {word: word for word in (*written, *words)}
            for keep, drop in chosen:
                called = {word: called[keep] if now == called[drop] else now for word, now in called.items()}
            yield {name: tuple(called.get(word, word) for word in shape) for name, shape in shapes.items()}


def _fits(part: Call, shapes: Shapes, sizes: Mapping[str, int]) -> bool:
    """Return whether a part can be computed; a trace needs a square matrix."""
    names = {name: np.full([sizes[word] for word in shape], 0.5) for name, shape in shapes.items()}
    for name, array in names.items():
        names[name] = array + np.arange(array.size).reshape(array.shape) % 7 / 11
    try:
        evaluate(part, names)
        return part.op != "trace" or len(set(np.shape(evaluate(part.args[0], names)))) == 1
    except (GradcheckError, ArithmeticError, np.linalg.LinAlgError) as error:
        return isinstance(error, np.linalg.LinAlgError)
