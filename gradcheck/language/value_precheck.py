"""Errors in the values of a case that need neither run nor graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.errors import InvalidCase, TooLarge
from gradcheck.language.case import Case, Value
from gradcheck.language.crash import crash_at
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS, too_large
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import DrawSettings
from gradcheck.language.sampling import Sampler, leaves_in_file_order

#: Larger tensors are not made for this check.
MOST_ELEMENTS = 100_000


def find_value_errors(case: Case) -> list[InvalidCase]:
    """Return the errors of a case's values, with the messages of a run."""
    try:
        sampler = Sampler(case, DrawSettings(case.seed), {}, MOST_ELEMENTS)
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            found = [_value_error(value, make) for value, make in _values(case, sampler)]
        return [error for error in found if error is not None]
    except Exception as error:
        return [crash_at(error, case.place, "looking at the values of this case")]


def _values(case: Case, sampler: Sampler) -> Iterator[tuple[Value, Callable[[], object]]]:
    """Yield every value with its maker; a leaf is then known to later ones."""

    def leaf(key: str, name: str, value: Value) -> Callable[[], object]:
        def make() -> None:
            sampler.names[name] = sampler.leaf(key, name, value, is_input=name not in case.constants)

        return make

    mentioned = set(chain.from_iterable(map(free_names, _value_expressions(case))))
    for name, value in leaves_in_file_order(case):
        if name in mentioned or not _is_plainly_drawn(value, case.dims):
            yield value, leaf(name, name, value)
    own = dict(sampler.names)
    for index, step in enumerate(case.steps):
        for name, value in step.inputs.items():
            yield value, leaf(f"forward[{index}].{name}", name, value)
        sampler.names = dict(own)
        yield from _stated(sampler, own, step.roots, step.values, step.expected)
    yield from _stated(sampler, own, case.values, case.expected)


def _value_expressions(case: Case) -> Iterator[Expr]:
    stated = [case.values, case.expected]
    for step in case.steps:
        stated += [step.inputs, step.roots, step.values, step.expected]
    values = chain((value for _, value in leaves_in_file_order(case)), *(values.values() for values in stated))
    return (value.expr for value in values if value is not None and value.expr is not None)


def _is_plainly_drawn(value: Value, dims: Mapping[str, int]) -> bool:
    """Return whether a value is a small `randn(n, 3)`, which needs no draw."""
    call = value.expr
    if not isinstance(call, Call) or call.op not in ("randn", "rand") or call.kwargs or value.dtype:
        return False
    sizes = [dims.get(part.name, -1) if isinstance(part, Name) else getattr(part, "value", -1) for part in call.args]
    return all(type(size) is int and size >= 0 for size in sizes) and math.prod(sizes) <= MOST_ELEMENTS


def _stated(
    sampler: Sampler, names: Mapping[str, object], *stated: Mapping[str, Value | None]
) -> Iterator[tuple[Value, Callable[[], object]]]:
    for values in stated:
        for key, value in values.items():
            if value is not None and value.expr is not None and set(free_names(value.expr)) <= names.keys():
                yield value, partial(sampler.expression, key, value)


def _value_error(value: Value, make: Callable[[], object]) -> InvalidCase | None:
    """Return the error of making a value; None if it is only too large here."""
    try:
        make()
    except InvalidCase as error:
        cause = error.__cause__
        if isinstance(cause, TooLarge) and cause.elements:
            if cause.elements <= MAX_ELEMENTS:
                return None
            return InvalidCase(too_large(cause.op, cause.elements, MAX_ELEMENTS).message, place=error.place)
        return error if error.place == value.place else None
    return None
