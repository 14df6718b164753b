"""The schema of a case: it takes what the loader takes, says what every key is for, and is what is committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gradcheck.autograd.op import whole_table
from gradcheck.language.loader import load_text, model
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.schema import schema
from gradcheck.language.loader.yaml_document import DEFAULT_LIMITS
from gradcheck.language.loader.yaml_text import decode, documents
from gradcheck.reports.report_schema import report_schema
from tests.paths import CASES, ROOT

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
    composer = Composer(path.name, DEFAULT_LIMITS)
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
    assert list(SCHEMA["properties"]) == list(model.Case.keys)
    for owner in (SCHEMA, *(SCHEMA["definitions"][name] for name in ("Step", "Generalize", "Xfail", "Form", "Bounds"))):
        assert owner["additionalProperties"] is False
        for key, part in owner["properties"].items():
            assert part.get("description"), key
            assert part.get("examples"), key
            here = {**part, "definitions": SCHEMA["definitions"]}
            assert all(map(jsonschema.Draft7Validator(here).is_valid, part["examples"])), key
    assert SCHEMA["required"] == ["inputs", "graph"]


def test_what_is_committed_is_what_it_comes_to() -> None:
    """`gradcheck schema > gradcheck.schema.json`, and with `--report` for the report's, write them anew."""
    made = {"gradcheck.schema.json": SCHEMA, "gradcheck-report.schema.json": report_schema()}
    stale = [name for name, schema in made.items() if json.loads((ROOT / name).read_text()) != schema]
    assert stale == [], "run: gradcheck schema > gradcheck.schema.json; with --report for the report's"


def test_where_an_expression_stands_every_op_is_offered_as_it_is_called() -> None:
    offered = SCHEMA["definitions"]["Expression"]["examples"]
    assert {"softmax(input, dim)", "matmul(input, other)", "linalg.inv(A)"} <= set(offered)
    assert {one.partition("(")[0] for one in offered} | {"T", "H", "mT", "mH"} >= {
        name for name in whole_table() if name[0] != "_"
    }
    assert SCHEMA["properties"]["graph"]["additionalProperties"] == {"$ref": "#/definitions/Expression"}


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
xfail: a bug
xfail: {reason: a bug, only: [x], until: 2027-01-31}
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
only: []
skip: ''
xfail: {only: [x]}
xfail: {reason: a bug, only: []}
xfail: {reason: a bug, until: soon}
checks: x == x
seed: 1.5
name: null
"""


@pytest.mark.parametrize(
    ("form", "right"), [*((form, True) for form in RIGHT.splitlines()), *((form, False) for form in WRONG.splitlines())]
)
def test_the_loader_and_the_schema_agree(form: str, right: bool) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, graph: {{y: x * 2, z: y.sum()}}, {form}}}\n"
    document = Composer("f.yaml", DEFAULT_LIMITS).compose(text, 1)
    assert document is not None
    assert VALIDATOR.is_valid(document.data) == right
    assert (not load_text(text, "f.yaml")[1]) == right
