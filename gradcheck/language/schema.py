"""The JSON Schema (draft-07) of a case, for editors. Made from the model that checks cases, so they cannot differ."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from gradcheck.autograd import dtypes
from gradcheck.language.loader.model import Case

DRAFT = "http://json-schema.org/draft-07/schema#"
TITLE = "gradcheck case"

_LIST = {
    "type": "array",
    "items": {"anyOf": [{"type": ["number", "boolean", "string"]}, {"$ref": "#/definitions/List"}]},
}
_EXPRESSION_TEXT = "An expression over creators, sizes and the names above: randn(n, 3), zeros(2), a @ a.T."

#: What the model only names, since it is read elsewhere.
DEFINITIONS: dict[str, Any] = {
    "List": {**_LIST, "description": "Nested lists of numbers (complex ones as '1+2j'), or of booleans."},
    "Value": {
        "description": "A tensor: a number, nested lists, an expression, or {values, shape, dtype}.",
        "anyOf": [
            {"type": ["number", "boolean"]},
            {"type": "string", "minLength": 1, "description": _EXPRESSION_TEXT},
            {"$ref": "#/definitions/List"},
            {"$ref": "#/definitions/Form"},
        ],
    },
    "Form": {
        "description": "A tensor whose shape or dtype cannot be read off its list.",
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "anyOf": [{"required": ["values"]}, {"required": ["shape"]}],
        "properties": {
            "values": {"anyOf": [{"type": ["number", "boolean", "string"]}, {"$ref": "#/definitions/List"}]},
            "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 64},
            "dtype": {"enum": [*dtypes.BY_NAME, *dtypes.ALIASES, *(f"torch.{name}" for name in dtypes.BY_NAME)]},
        },
    },
    "MaybeValue": {"anyOf": [{"$ref": "#/definitions/Value"}, {"type": "null"}]},
    "Expression": {
        "description": "One line of the case language, as a PyTorch user writes it: (x @ y).sum(dim=0).",
        "type": ["string", "number", "boolean"],
        "minLength": 1,
    },
    "Derivations": {
        "description": "An expression, or a list of them, each verified on its own.",
        "anyOf": [
            {"$ref": "#/definitions/Expression"},
            {"type": "array", "items": {"$ref": "#/definitions/Expression"}, "minItems": 1},
        ],
    },
    "Shape": {
        "description": "Sizes, each a word or an integer, or a creator: [a, b], uniform(0.1, 2, [a, b]).",
        "anyOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "array",
                "items": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}]},
            },
        ],
    },
    "Bounds": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "rtol": {"type": "number", "minimum": 0, "description": "Relative to each element."},
            "atol": {"type": "number", "minimum": 0, "description": "Relative to the tensor's own scale."},
        },
    },
    "Tolerance": {"anyOf": [{"type": "number", "minimum": 0}, {"$ref": "#/definitions/Bounds"}]},
}


def schema() -> dict[str, Any]:
    """The schema of one YAML document of a case file."""
    made = Case.model_json_schema(ref_template="#/definitions/{model}", schema_generator=_Draft7)
    definitions = {**made.pop("$defs", {}), **DEFINITIONS}
    made["required"] = ["inputs", "graph"]
    for section in ("inputs", "graph"):
        made["properties"][section]["minProperties"] = 1
    made["not"] = {"required": ["backward", "steps"]}
    definitions["Step"]["oneOf"] = [{"required": [action]} for action in ("backward", "zero_grad", "forward")]
    made["properties"]["tolerance"]["properties"] = {
        name: {"type": "number", "minimum": 0} for name in ("rtol", "atol")
    }
    whole = {"$schema": DRAFT, **made, "title": TITLE, "definitions": dict(sorted(definitions.items()))}
    cleaned: dict[str, Any] = _clean(whole)
    return cleaned


class _Draft7(GenerateJsonSchema):
    """pydantic's generator, less the titles that only repeat the keys."""

    def get_title_from_name(self, name: str) -> str:
        return ""


def _clean(node: Any) -> Any:
    """`x-ref` as a reference; empty defaults and titles left out. The schema is shallow: it is ours, not a user's."""
    if isinstance(node, list):
        return [_clean(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "x-ref" in node:
        return {"$ref": f"#/definitions/{node['x-ref']}"}
    empty = {key for key in ("title", "default") if key in node and (not node[key] or isinstance(node[key], dict))}
    return {key: _clean(value) for key, value in node.items() if key not in empty}
