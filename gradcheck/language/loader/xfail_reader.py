"""The key `xfail`: an expected failure, its claims and its last day."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from typing import Any, get_args

from gradcheck.language.case import DERIVATIVE_SECTIONS, XFAIL_ERRORS, ExpectedFailure
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import model
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path
from gradcheck.language.suggest import did_you_mean

_TENSORS = ("inputs", "constants", "graph")


def expected_failure(scope: NameScope, said: model.Case) -> ExpectedFailure | None:
    """Return the expected failure; report unknown claims and dates."""
    if said.xfail is None:
        return None
    only = tuple(" ".join(name.split()) for name in said.xfail.only)
    texts = {" ".join(str(text).split()) for text in _texts(said)}
    for number, name in enumerate(only):
        if name not in texts and name not in (*get_args(model.ErrorKind), *XFAIL_ERRORS):
            _check(scope, ("xfail", "only", number), name)
    if said.xfail.until and not _is_day(said.xfail.until):
        scope.add_error(f"there is no day {said.xfail.until}", ("xfail", "until"))
    return ExpectedFailure(said.xfail.reason, only, said.xfail.until)


def _check(scope: NameScope, path: Path, name: str) -> None:
    """Report a name, such as `formula of b`, that no claim can have."""
    if (term := re.fullmatch(r"(?:jacobian|hessian)\((.*)\)", name)) is not None:
        for tensor in term[1].split(","):
            scope.check_reference(path, _TENSORS, "the tensor", tensor.strip(), scope.document.place(path))
        return
    kind, of, tensor = name.partition(" of ")
    if of and kind.replace(" ", "_") not in tuple(ClaimKind):
        hint = did_you_mean(kind, tuple(ClaimKind), f"there are {', '.join(ClaimKind)}")
        scope.add_error(f"no claim is called '{kind}'", path, hint)
    elif of or name.replace(" ", "_") not in tuple(ClaimKind):
        scope.check_reference(path, _TENSORS, "the tensor", tensor or name, scope.document.place(path))


def _texts(said: model.Case) -> Iterator[Any]:
    yield from said.checks
    for step in said.steps:
        yield from step.checks
    derived = (by for section in DERIVATIVE_SECTIONS for by in getattr(said, section).values())
    derivations = (said.formulas, said.wrong_formulas, *derived)
    for given in (one for section in derivations for one in section.values()):
        yield from given if isinstance(given, list) else [given]


def _is_day(text: str) -> bool:
    year, month, day = map(int, text.split("-"))
    return year > 0 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
