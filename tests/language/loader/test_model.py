"""The shape of a case: short forms, defaults, nothing unknown; and its schema, which takes what the loader takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from gradcheck.language.loader import load_text, model
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.document import DEFAULT
from gradcheck.language.loader.model import EVERYTHING, Case, Generalize, Step, schema
from gradcheck.language.loader.text import decode, documents
from tests.paths import CASES


def test_short_forms() -> None:
    assert Step.model_validate({"backward": "z"}).backward == {"z": None}
    assert Step.model_validate({"zero_grad": "x"}).zero_grad == ["x"]
    assert Step.model_validate({"zero_grad": "all"}).zero_grad == [EVERYTHING]
    assert Case.model_validate({"generalize": True}).generalize == Case().generalize


def test_cases_share_no_defaults() -> None:
    one, other = Case(), Case()
    one.graph["y"] = "x"
    one.tags.append("a")
    one.generalize.dims["n"] = [1, 2]
    assert (other.graph, other.tags, other.generalize.dims) == ({}, [], {})


@pytest.mark.parametrize("said", [{"wibble": 1}, {"seed": "1"}, {"raises": None}, {"steps": []}, {"dims": {"n": 1.0}}])
def test_nothing_unknown_and_nothing_converted(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Case.model_validate(said)


def test_bounds() -> None:
    assert Generalize.model_validate({"trials": 1000}).trials == 1000
    with pytest.raises(ValidationError):
        Generalize.model_validate({"trials": 0})


MALFORMED = Path(__file__).parent / "malformed"
SHIPPED = sorted(CASES.rglob("*.y*ml"))
SCHEMA = schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
#: Mistakes that a schema can see, of those in the corpus.
VISIBLE = [
    "backward-and-steps", "derivation-types", "empty-sections", "forms", "generalize", "indented-too-far", "just-text",
    "misspelt-section", "missing", "not-a-mapping", "nulls", "shape-form", "shapes-disagree", "steps", "tolerance",
    "types", "unknown-key", "unknown-key-far", "unknown-step-key",
]  # fmt: skip


def data_of(path: Path) -> list[Any]:
    composer = Composer(path.name, DEFAULT)
    found = [composer.compose(piece, first) for piece, first in documents(decode(path.read_bytes(), path.name))]
    return [document.data for document in found if document is not None]


def test_it_is_draft_07() -> None:
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    assert "x-ref" not in text
    assert "$defs" not in text
    assert "prefixItems" not in text


def test_references_lead_somewhere() -> None:
    text = json.dumps(SCHEMA)
    for name in SCHEMA["definitions"]:
        assert f'"#/definitions/{name}"' in text
    for part in text.split('"$ref": "')[1:]:
        assert part.split('"')[0].removeprefix("#/definitions/") in SCHEMA["definitions"]


def test_every_key_is_described_and_unknown_ones_are_refused() -> None:
    assert list(SCHEMA["properties"]) == list(model.Case.model_fields)
    for owner in (SCHEMA, SCHEMA["definitions"]["Step"], SCHEMA["definitions"]["Generalize"]):
        assert owner["additionalProperties"] is False
        assert all(part.get("description") for part in owner["properties"].values())
    assert SCHEMA["required"] == ["inputs", "graph"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_cases(path: Path) -> None:
    for data in data_of(path):
        assert [error.message for error in VALIDATOR.iter_errors(data)] == []


@pytest.mark.parametrize("name", VISIBLE)
def test_the_corpus(name: str) -> None:
    (data,) = data_of(MALFORMED / f"{name}.yaml")
    assert not VALIDATOR.is_valid(data)


RIGHT = """\
backward: z
backward: {z: 1}
backward: {z: null}
backward: {y: randn_like(y), z: [1]}
generalize: true
generalize: false
generalize: {trials: 5}
shapes: {x: [n]}, generalize: {dims: {n: [1, 3]}}
formulas: {x: [y, x]}
formulas: {x: 2}
constants: {c: true, d: [[1, '2j']], e: {values: 1, dtype: int8}, f: {shape: [0]}}
shapes: {x: [2]}
shapes: {x: 'uniform(0.1, 2, [a])'}
tolerance: {rtol: 1, x: {atol: 0.5}, engines: {rtol: 1e-3}}
expected: {x: null}
steps: [{backward: z}, {zero_grad: all}, {forward: {}}]
steps: [{zero_grad: [x, y]}, {backward: {z: 1}, retain_graph: false, raises: backward_twice}]
let: {a: x * 2}
"""
WRONG = """\
inputs2: 1
backward: []
backward: {}
generalize: {trials: 0}
formulas: {x: []}
shapes: {x: 3}
constants: {f: {}}
constants: {f: {value: 1}}
constants: {f: {values: 1, dtype: int7}}
dims: {n: -1}
tolerance: {rtol: -1}
tolerance: {x: {rtol: tight}}
steps: [{}]
steps: [{backward: z, forward: {}}]
steps: [{backward: z, raises: oops}]
steps: [{backward: z, raises: null}]
backward: z, steps: [{backward: z}]
dtype: float
tags: a
skip: ''
checks: x == x
seed: 1.5
name: null
"""


@pytest.mark.parametrize(
    ("form", "right"), [*((form, True) for form in RIGHT.splitlines()), *((form, False) for form in WRONG.splitlines())]
)
def test_the_loader_and_the_schema_agree(form: str, right: bool) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: x * 2, z: y.sum()}}, {form}}}\n"
    document = Composer("f.yaml", DEFAULT).compose(text, 1)
    assert document is not None
    assert VALIDATOR.is_valid(document.data) == right
    assert (not load_text(text, "f.yaml")[1]) == right
