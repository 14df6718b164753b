"""From a checked document to a Case: everything said is read, and held against everything else that is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Claim, Generalize, Step, Value
from gradcheck.language.loader import model, tolerances
from gradcheck.language.loader.limits import Limits
from gradcheck.language.loader.scope import Scope
from gradcheck.language.loader.shapes import Shapes
from gradcheck.language.loader.tensors import Values
from gradcheck.language.loader.tree import Document, Path
from gradcheck.language.loader.validate import Checked, check, dotted
from gradcheck.language.suggest import did_you_mean

#: What may be claimed about: anything has a value, but only these have gradients.
_TENSORS = ("inputs", "constants", "graph")
_DIFFERENTIABLE = ("inputs", "graph")
#: The keys whose own place errors may be told at later on.
_PLACED = ("expected", "values", "formulas", "wrong_formulas", "graph", "inputs", "constants", "tolerance", "shapes")

Names: TypeAlias = set[str]


def build(document: Document, file: str, name: str, limits: Limits) -> tuple[Case | None, list[InvalidCase]]:
    """The case that a document describes, and no errors; or None, and all of them. `name` is its default name."""
    checked = check(document)
    if not isinstance(document.data, dict):
        return None, checked.errors
    reader = _Reader(document, checked, limits)
    case = reader.case(file, checked.model.name or name)
    return (None if checked.errors else case), checked.errors


class _Reader:
    """Reads one case; whatever is wrong becomes an error of the scope's, and reading goes on."""

    def __init__(self, document: Document, checked: Checked, limits: Limits) -> None:
        self.document = document
        self.said = said = checked.model
        self.broken = checked.broken
        self.scope = scope = Scope(document, checked.errors, checked.excused, said.dims, limits)
        self.values = Values(scope, said.dtype, limits.elements)
        for section in ("dims", "inputs", "constants", "graph", "let"):
            scope.define(section, getattr(said, section))
        self.shapes = Shapes(scope, said.shapes, said.dims)
        self.sizes = {*said.dims, *self.shapes.words}
        self.leaves = {*self.sizes, *said.inputs, *said.constants}
        self.tensors = {*self.leaves, *said.graph}

    def case(self, file: str, name: str) -> Case:
        said = self.said
        self._require()
        inputs, constants = self._leaf_values()
        graph = self._ordered("graph", said.graph, self.leaves, gradients=False)
        steps = self._steps()
        let = self._ordered("let", said.let, self.tensors, gradients=True)
        known = {*self.tensors, *said.let}
        formulas = self._derivations("formulas", said.formulas, known)
        wrong = self._derivations("wrong_formulas", said.wrong_formulas, known)
        checks = self._checks(("checks",), said.checks, known)
        words = self.shapes.settle({**inputs, **constants})
        tolerance, engines = tolerances.read(self.scope, said.tolerance)
        self._check_name()
        claims = bool(formulas or wrong or checks or any(step.checks for step in steps))
        return Case(
            id=f"{file}::{name}",
            name=name,
            place=self.document.place(),
            inputs=inputs,
            graph=graph,
            steps=steps,
            description=said.description,
            source=said.source,
            tags=tuple(said.tags),
            dtype=said.dtype,
            seed=said.seed,
            dims=said.dims,
            constants=constants,
            values=self._claimed_values(("values",), said.values),
            expected=self._expected(("expected",), said.expected),
            formulas=formulas,
            wrong_formulas=wrong,
            let=let,
            checks=checks,
            shapes=self.shapes.shapes,
            words=words,
            generalize=self._generalize(claims),
            tolerance=tolerance,
            engine_tolerance=engines,
            only=tuple(said.only),
            skip=said.skip or None,
            xfail=said.xfail or None,
            places=self._places(),
        )

    def _require(self) -> None:
        """`inputs` and `graph` must be there, and have entries."""
        for section, example in (("inputs", "'x: [1, 2, 3]'"), ("graph", "'loss: (x * x).sum()'")):
            if getattr(self.said, section) or section in self.broken or self._suggested(section):
                continue
            there = section in self.document.data
            place = self.document.key_place((section,)) if there else self.document.place()
            message = f"'{section}' is empty" if there else f"a case needs '{section}'"
            self.scope.refuse(message, place, f"below '{section}:' stand lines such as {example}")

    def _suggested(self, section: str) -> bool:
        """Whether an unknown key was probably meant for this section."""
        return any(f"did you mean '{section}'?" == error.hint for error in self.scope.errors)

    def _check_name(self) -> None:
        name = self.said.name
        if name and (not name.isprintable() or name != name.strip() or len(name) > 200):
            hint = "one line of at most 200 characters, without blanks around it"
            self.scope.refuse("the name cannot be used on a command line", self.document.place(("name",)), hint)

    # Tensors -------------------------------------------------------------------------------------

    def _leaf_values(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """Inputs and constants, in the file's order: each may use those above it, of either section."""
        read: dict[str, dict[str, Value]] = {"inputs": {}, "constants": {}}
        names = set(self.sizes)
        for section in self.document.data:
            if section not in read:
                continue
            for name, data in getattr(self.said, section).items():
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
            claim = self.scope.expression((section, name), data, names, gradients=gradients)
            if claim is not None:
                read[name] = claim
            names.add(name)
        return read

    # The backward pass ---------------------------------------------------------------------------

    def _steps(self) -> tuple[Step, ...]:
        said = self.said
        if said.backward and said.steps:
            message = "a case has either 'backward' or 'steps'"
            self.scope.refuse(message, self.document.key_place(("steps",)), "write the backward pass as the first step")
        if said.steps:
            return tuple(self._step(("steps", i), step) for i, step in enumerate(said.steps))
        if said.backward:
            return (
                Step(
                    "backward",
                    roots=self._roots(("backward",), said.backward),
                    place=self.document.place(("backward",)),
                ),
            )
        last = next(reversed(said.graph), None)
        return (Step("backward", roots={last: None}, place=self.document.key_place(("graph", last))),) if last else ()

    def _step(self, path: Path, said: model.Step) -> Step:
        given = [action for action in ("backward", "zero_grad", "forward") if action in said.model_fields_set]
        if len(given) != 1 and tuple(path) not in self.broken:
            found = " and ".join(f"'{action}'" for action in given) or "none"
            message = f"a step is one action: backward, zero_grad or forward; found {found}"
            self.scope.refuse(message, self.document.place(path), "write each as a step of its own")
        action: Any = given[0] if given else "backward"
        if "retain_graph" in said.model_fields_set and action != "backward":
            self.scope.refuse(
                "'retain_graph' belongs to a backward pass", self.document.key_place((*path, "retain_graph"))
            )
        return Step(
            action=action,
            roots=self._roots((*path, "backward"), said.backward),
            retain_graph=said.retain_graph,
            names=self._cleared((*path, "zero_grad"), said.zero_grad),
            inputs=self._new_inputs((*path, "forward"), said.forward),
            raises=said.raises,
            values=self._claimed_values((*path, "values"), said.values),
            expected=self._expected((*path, "expected"), said.expected),
            checks=self._checks((*path, "checks"), said.checks, {*self.tensors, *self.said.let}),
            place=self.document.place(path),
        )

    def _roots(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value | None]:
        """The roots, each with its incoming gradient, None where it is left out."""
        roots: dict[str, Value | None] = {}
        for name, data in said.items():
            if self.scope.refers((*path, name), _TENSORS, "the root"):
                roots[name] = None if data is None else self.values.read((*path, name), data, self.tensors)
        return roots

    def _cleared(self, path: Path, said: list[str]) -> tuple[str, ...]:
        if said == [model.EVERYTHING]:
            return ()
        for i, name in enumerate(said):
            self.scope.refers((*path, i), _DIFFERENTIABLE, "the tensor", name)
        return tuple(said)

    def _new_inputs(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value]:
        read = {}
        for name, data in said.items():
            if self.scope.refers((*path, name), ("inputs",), "the input"):
                value = self.values.read((*path, name), data, self.leaves, leaf=True)
                if value is not None:
                    read[name] = value
        return read

    # Claims --------------------------------------------------------------------------------------

    def _claimed_values(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value]:
        read = {}
        for name, data in said.items():
            if self.scope.refers((*path, name), _TENSORS, "the tensor"):
                value = self.values.read((*path, name), data, self.leaves, random=False)
                if value is not None:
                    read[name] = value
        return read

    def _expected(self, path: Path, said: Mapping[str, Any]) -> dict[str, Value | None]:
        """Known gradients. That a constant has none may be said too."""
        read: dict[str, Value | None] = {}
        for name, data in said.items():
            sections = _DIFFERENTIABLE if data is not None else _TENSORS
            if self.scope.refers((*path, name), sections, "the gradient of"):
                read[name] = None if data is None else self.values.read((*path, name), data, self.leaves, random=False)
        return read

    def _derivations(self, section: str, said: Mapping[str, Any], names: Names) -> dict[str, tuple[Claim, ...]]:
        read = {}
        for name, data in said.items():
            if not self.scope.refers((section, name), _DIFFERENTIABLE, "the gradient of"):
                continue
            if data == []:
                self.scope.refuse(f"{dotted((section, name))} is an empty list", self.document.place((section, name)))
            paths = (
                [((section, name, i), d) for i, d in enumerate(data)]
                if isinstance(data, list)
                else [((section, name), data)]
            )
            claims = [self.scope.expression(path, text, names, gradients=True) for path, text in paths]
            read[name] = tuple(claim for claim in claims if claim is not None)
        return read

    def _checks(self, path: Path, said: list[Any], names: Names) -> tuple[Claim, ...]:
        claims = [self.scope.expression((*path, i), data, names, gradients=True) for i, data in enumerate(said)]
        return tuple(claim for claim in claims if claim is not None)

    def _generalize(self, claims: bool) -> Generalize | None:
        said = self.said.generalize
        bounds: dict[str, tuple[int, int]] = {}
        for word, (low, high) in said.dims.items():
            path = ("generalize", "dims", word)
            if word not in self.sizes and word not in self.scope.excused:
                hint = did_you_mean(word, self.sizes, "symbolic sizes are those of `dims` and the words in `shapes`")
                self.scope.refuse(f"the size '{word}' is unknown", self.document.key_place(path), hint)
            if low > high:
                self.scope.refuse(f"the lowest size {low} is above the highest, {high}", self.document.place(path))
            bounds[word] = (low, high)
        enabled = self.document.data.get("generalize", claims) is not False
        return Generalize(trials=said.trials, dims=bounds) if enabled else None

    def _places(self) -> dict[str, Place]:
        """Where each key stands: `backward`, `expected.x`."""
        places = self.document.key_places(())
        for section in ("expected", "values"):
            if section in places:
                found = self.document.key_places((section,))
                places.update({f"{section}.{name}": place for name, place in found.items()})
        return places
