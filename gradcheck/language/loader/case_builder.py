"""A checked document to a Case, each part checked against the others."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias, get_args

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import (
    DERIVATIVE_SECTIONS,
    XFAIL_ERRORS,
    Case,
    Claim,
    ExpectedFailure,
    Generalize,
    Step,
    Value,
)
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import model
from gradcheck.language.loader.circular_formulas import CircularityChecker
from gradcheck.language.loader.derivative_reader import DerivativeReader
from gradcheck.language.loader.expression_reader import ExpressionReader
from gradcheck.language.loader.implementation_reader import ImplementationReader
from gradcheck.language.loader.name_scope import MOST_COMPARED, NameScope, TooManyErrors
from gradcheck.language.loader.symbolic_shapes import SymbolicShapes
from gradcheck.language.loader.validate import ValidationResult, check, is_misplaced
from gradcheck.language.loader.value_reader import ValueReader, read_tolerances
from gradcheck.language.loader.yaml_document import Document, Limits, Path
from gradcheck.language.suggest import did_you_mean

#: Every tensor has a value, but only the differentiable ones have gradients.
_TENSORS = ("inputs", "constants", "graph")
_DIFFERENTIABLE = ("inputs", "graph")
Names: TypeAlias = set[str]


def build_case(document: Document, file: str, name: str, limits: Limits) -> tuple[Case | None, list[InvalidCase]]:
    """Return the Case of a document, `name` by default, or all its errors."""
    checked = check(document)
    if not isinstance(document.data, dict):
        return None, checked.errors
    try:
        case = _CaseReader(document, checked, limits).case(file, checked.model.name or name)
    except TooManyErrors:
        return None, checked.errors
    return (None if checked.errors else case), checked.errors


@dataclass(frozen=True, slots=True)
class _NamesAbove(Collection[str]):
    """The leaves and the graph's tensors before a position, without a set."""

    leaves: Collection[str]
    order: Mapping[str, int]
    at: int

    def __contains__(self, name: object) -> bool:
        return name in self.leaves or self.order.get(name, self.at) < self.at  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[str]:
        return chain(self.leaves, islice(self.order, self.at))

    def __len__(self) -> int:
        return len(self.leaves) + self.at


class _CaseReader:
    """Reads one case; its mistakes become errors of the scope."""

    def __init__(self, document: Document, checked: ValidationResult, limits: Limits) -> None:
        self.document, self.checked = document, checked
        self.model = said = checked.model
        self.scope = scope = NameScope(document, checked.errors, checked.possibly_defined, said.dims)
        self._refuse_misplaced()
        self.expressions = ExpressionReader(scope, limits.elements)
        self.values = ValueReader(self.expressions, said.dtype)
        for section in ("dims", "inputs", "constants", "graph", "let"):
            scope.define(section, getattr(said, section))
        self.shapes = SymbolicShapes(self.expressions, said.shapes)
        self.sizes = {*said.dims, *self.shapes.symbols}
        self.leaves = {*self.sizes, *said.inputs, *said.constants}
        self.tensors = {*self.leaves, *said.graph}
        self.known = {*self.tensors, *said.let}

    def _known_above(self) -> dict[str, Collection[str]]:
        """Map each entry that has implementations to the names that it may use."""
        order = {name: at for at, name in enumerate(self.model.graph)}
        return {
            name: _NamesAbove(self.leaves, order, order[name]) for name in self.model.implementations if name in order
        }

    def _refuse_misplaced(self) -> None:
        """Report keys of the case that are indented into a section."""
        for section in ("inputs", "constants", "graph", "let", "formulas", "expected"):
            entries = getattr(self.model, section)
            for name in [name for name, data in entries.items() if is_misplaced(name, data)]:
                hint = f"indent it as far as '{section}'"
                self.scope.add_error(f"'{name}' is a key of the case itself", (section, name), hint, key=True)
                self.checked.intended_keys.add(name)
                self.checked.possibly_defined.update(map(str, entries.pop(name)))

    def case(self, file: str, name: str) -> Case:
        """Return the case; it is complete if there are no errors."""
        said = self.model
        self._require()
        inputs, constants = self._leaf_values()
        let = self._ordered("let", said.let, self.tensors, gradients=True)
        circular = CircularityChecker(self.scope, self.model.graph, let)
        self.derivations = derivations = DerivativeReader(self.expressions, self.known, circular)
        stated_derivatives: dict[str, Any] = {
            section: derivations.read(section, getattr(said, section)) for section in DERIVATIVE_SECTIONS
        }
        tolerance, engine_tolerance = read_tolerances(self.scope, said.tolerance)
        return Case(
            **{**said.plain_values(), "id": f"{file}::{name}", "name": name},
            **stated_derivatives,
            place=self.document.place(),
            inputs=inputs,
            constants=constants,
            graph=self._ordered("graph", said.graph, self.leaves, gradients=False),
            steps=self._steps(),
            let=let,
            formulas=self._derivations("formulas", said.formulas),
            wrong_formulas=self._derivations("wrong_formulas", said.wrong_formulas),
            checks=self._checks(("checks",), said.checks),
            shapes=self.shapes.shapes,
            symbol_sizes=self.shapes.resolve_sizes({**inputs, **constants}),
            values=self._values_of(("values",), said.values, _TENSORS, "the tensor", random=False),
            expected=self._expected(("expected",), said.expected),
            generalize=self._generalize(),
            implementations=ImplementationReader(self.expressions, self._known_above()).read(said.implementations),
            tolerance=tolerance,
            engine_tolerance=engine_tolerance,
            xfail=expected_failure(self.scope, said),
            places=self._places(),
        )

    def _require(self) -> None:
        for section, example in (("inputs", "'x: [1, 2, 3]'"), ("graph", "'loss: (x * x).sum()'")):
            if getattr(self.model, section) or section in self.checked.broken | self.checked.intended_keys:
                continue
            there = section in self.document.data
            message = f"'{section}' is empty" if there else f"a case needs '{section}'"
            hint = f"below '{section}:' stand lines such as {example}"
            self.scope.add_error(message, (section,) if there else (), hint, key=there)
        name = self.model.name
        if name and (not name.isprintable() or name != name.strip() or len(name) > 200):
            hint = "one line of at most 200 characters, without blanks around it"
            self.scope.add_error("the name cannot be used on a command line", ("name",), hint)

    def _leaf_values(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Read inputs and constants in file order: each may use those above."""
        read: dict[str, dict[str, Value]] = {"inputs": {}, "constants": {}}
        names = set(self.sizes)
        for section in self.document.data:
            if section not in read:
                continue
            for name, data in getattr(self.model, section).items():
                if name not in self.scope.defined:
                    continue
                value = self.values.read((section, name), data, names, leaf=section == "inputs")
                if value is not None:
                    read[section][name] = value
                names.add(name)
        return read["inputs"], read["constants"]

    def _ordered(self, section: str, said: Mapping[str, Any], names: Names, *, gradients: bool) -> dict[str, Claim]:
        names = set(names)
        read = {}
        for name, data in said.items():
            claim = self.expressions.read((section, name), data, names, gradients=gradients)
            if claim is not None:
                read[name] = claim
            names.add(name)
        return read

    def _steps(self) -> tuple[Step, ...]:
        said = self.model
        if said.backward and said.steps:
            hint = "write the backward pass as the first step"
            self.scope.add_error("a case has either 'backward' or 'steps'", ("steps",), hint, key=True)
        if said.steps:
            return tuple(self._step(("steps", i), step) for i, step in enumerate(said.steps))
        if said.backward:
            place = self.document.place(("backward",))
            return (Step("backward", roots=self._roots(("backward",), said.backward), place=place),)
        if not said.graph:
            return ()
        last = next(reversed(said.graph))
        place = self.document.key_place(("graph", last))
        return (Step("backward", roots={last: None}, place=place, is_implied=True),)

    def _step(self, path: Path, said: model.Step) -> Step:
        given = [action for action in ("backward", "zero_grad", "forward") if action in said.given]
        if len(given) != 1 and tuple(path) not in self.checked.broken:
            found = " and ".join(f"'{action}'" for action in given) or "none"
            message = f"a step is one action: backward, zero_grad or forward; found {found}"
            self.scope.add_error(message, path, "write each as a step of its own")
        action: Any = given[0] if given else "backward"
        if "retain_graph" in said.given and action != "backward":
            self.scope.add_error("'retain_graph' belongs to a backward pass", (*path, "retain_graph"), key=True)
        return Step(
            action=action,
            roots=self._roots((*path, "backward"), said.backward),
            retain_graph=said.retain_graph,
            names=self._cleared((*path, "zero_grad"), said.zero_grad),
            inputs=self._values_of((*path, "forward"), said.forward, ("inputs",), "the input", leaf=True),
            raises=said.raises,
            values=self._values_of((*path, "values"), said.values, _TENSORS, "the tensor", random=False),
            expected=self._expected((*path, "expected"), said.expected),
            checks=self._checks((*path, "checks"), said.checks),
            place=self.document.place(path),
        )

    def _roots(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value | None]:
        """Read the roots with their incoming gradients, None where left out."""
        return {
            name: None if data is None else self.values.read(at, data, self.tensors)
            for name, at, data in self._entries_for_tensors(path, said, _TENSORS, "the root")
        }

    def _cleared(self, path: Path, said: list[str]) -> tuple[str, ...]:
        if said == [model.EVERYTHING]:
            return ()
        for i, name in enumerate(said):
            self.scope.check_reference((*path, i), _DIFFERENTIABLE, "the tensor", name)
        return tuple(said)

    def _values_of(
        self, path: Path, said: Mapping[str, Any], sections: tuple[str, ...], what: str, **how: bool
    ) -> dict[str, Value]:
        entries = self._entries_for_tensors(path, said, sections, what)
        read = {name: self.values.read(at, data, self.leaves, **how) for name, at, data in entries}
        return {name: value for name, value in read.items() if value is not None}

    def _expected(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value | None]:
        """Read known gradients; null says that a tensor has none."""
        read: dict[str, Value | None] = {}
        for name, data in said.items():
            at = (*path, name)
            if self.scope.check_reference(at, _TENSORS if data is None else _DIFFERENTIABLE, "the gradient of"):
                read[name] = None if data is None else self.values.read(at, data, self.leaves, random=False)
        return read

    def _derivations(self, section: str, said: Mapping[str, Any]) -> dict[str, tuple[Claim, ...]]:
        entries = self._entries_for_tensors((section,), said, _DIFFERENTIABLE, "the gradient of")
        return {name: self.derivations.claims(name, at, data) for name, at, data in entries}

    def _checks(self, path: Path, said: list[Any]) -> tuple[Claim, ...]:
        claims = [self.expressions.read((*path, i), data, self.known, gradients=True) for i, data in enumerate(said)]
        return tuple(claim for claim in claims if claim is not None)

    def _entries_for_tensors(
        self, path: Path, said: Mapping[str, Any], sections: tuple[str, ...], what: str
    ) -> Iterator[tuple[str, Path, Any]]:
        """Yield name, path and data of the entries that name tensors.

        A comma of YAML's flow style can cut an entry in two. The rest is not yielded, since the cut itself is an error.
        """
        before: Any = None
        for name, data in said.items():
            is_rest = data is None and isinstance(before, str) and before.count("(") > before.count(")")
            before = data
            if not is_rest and self.scope.check_reference((*path, name), sections, what):
                yield name, (*path, name), data

    def _generalize(self) -> Generalize | None:
        said = self.model.generalize
        bounds: dict[str, tuple[int, int]] = {}
        for word, (low, high) in said.dims.items():
            path = ("generalize", "dims", word)
            if word not in self.sizes and word not in self.scope.possibly_defined:
                otherwise = "symbolic sizes are those of `dims` and the words in `shapes`"
                hint = did_you_mean(word, islice(self.sizes, MOST_COMPARED), otherwise)
                self.scope.add_error(f"the size '{word}' is unknown", path, hint, key=True)
            if low > high:
                self.scope.add_error(f"the lowest size {low} is above the highest, {high}", path)
            bounds[word] = (low, high)
        case = self.model
        claims = case.formulas or case.wrong_formulas or case.checks or any(step.checks for step in case.steps)
        claims = claims or case.implementations or any(getattr(case, section) for section in DERIVATIVE_SECTIONS)
        enabled = self.document.data.get("generalize", bool(claims)) is not False
        return Generalize(trials=said.trials, dims=bounds) if enabled else None

    def _places(self) -> dict[str, Place]:
        """Map keys such as `backward` and `expected.x` to their places."""
        places = self.document.key_places(())
        for section in ("expected", "values", "xfail"):
            if section in places and isinstance(self.document.data.get(section), dict):
                found = self.document.key_places((section,))
                places.update({f"{section}.{name}": place for name, place in found.items()})
        return places


def expected_failure(scope: NameScope, said: model.Case) -> ExpectedFailure | None:
    """Return the expected failure; report unknown claims and dates."""
    if said.xfail is None:
        return None
    only = tuple(" ".join(name.split()) for name in said.xfail.only)
    texts = {" ".join(str(text).split()) for text in _texts(said)}
    for number, name in enumerate(only):
        if name not in texts and name not in (*get_args(model.ErrorKind), *XFAIL_ERRORS):
            _check_claim_name(scope, ("xfail", "only", number), name)
    if said.xfail.until and not _is_day(said.xfail.until):
        scope.add_error(f"there is no day {said.xfail.until}", ("xfail", "until"))
    return ExpectedFailure(said.xfail.reason, only, said.xfail.until)


def _check_claim_name(scope: NameScope, path: Path, name: str) -> None:
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
