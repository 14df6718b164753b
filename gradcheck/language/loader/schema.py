"""The JSON Schema of a case for editors, made from the model.

A test compares it with `gradcheck.schema.json`.
"""

from __future__ import annotations

from typing import Any, get_args

from gradcheck.autograd import dtypes
from gradcheck.language.loader.model import Case, Dtype

_ATTRIBUTE_OPS = ("T", "H", "mT", "mH")
_LIST = {
    "type": "array",
    "items": {"anyOf": [{"type": ["number", "boolean", "string"]}, {"$ref": "#/definitions/List"}]},
}
_CREATORS = ["randn(n, m)", "rand(n)", "uniform(0.1, 2, [n])", "randint(0, 5, [n])", "zeros(n)", "ones(n)", "eye(n)"]
_EXPRESSION_TEXT = "An expression over creators, sizes and the names above: randn(n, 3), zeros(2), a @ a.T."

_RTOL, _ATOL = "Relative to each element.", "Absolute, as in NumPy; 0 unless given."

#: Definitions that the model only names.
DEFINITIONS: dict[str, Any] = {
    "List": {**_LIST, "description": "Nested lists of numbers (complex ones as '1+2j'), or of booleans."},
    "Value": {
        "description": "A tensor: a number, nested lists, an expression, or {values, shape, dtype}.",
        "anyOf": [
            {"type": ["number", "boolean"]},
            {"type": "string", "minLength": 1, "description": _EXPRESSION_TEXT, "examples": _CREATORS},
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
            "values": {
                "description": "The numbers.",
                "anyOf": [{"type": ["number", "boolean", "string"]}, {"$ref": "#/definitions/List"}],
                "examples": [[]],
            },
            "shape": {
                "description": "Its sizes.",
                "type": "array",
                "items": {"type": "integer", "minimum": 0},
                "maxItems": 64,
                "examples": [[0, 3]],
            },
            "dtype": {
                "description": "Of constants, any; of inputs, the case's.",
                "enum": [*dtypes.BY_NAME, *dtypes.ALIASES, *(f"torch.{name}" for name in dtypes.BY_NAME)],
                "examples": ["int64"],
            },
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
            "rtol": {"type": "number", "minimum": 0, "description": _RTOL, "examples": [1e-6]},
            "atol": {"type": "number", "minimum": 0, "description": _ATOL, "examples": [1e-9]},
        },
    },
    "Reference": {
        "description": "Python code: FILE.py:NAME, the file beside this one, or module:NAME.",
        "type": "string",
        "minLength": 3,
        "pattern": ":",
    },
    "Implementation": {
        "type": "object",
        "additionalProperties": False,
        "anyOf": [{"required": ["call"]}, {"required": ["forward", "backward"]}],
        "properties": {
            "call": {"$ref": "#/definitions/Reference", "description": "What computes the entry."},
            "forward": {"$ref": "#/definitions/Reference", "description": "Returns the result, or (result, cache)."},
            "backward": {"$ref": "#/definitions/Reference", "description": "Takes (incoming, cache), or the inputs."},
            "arguments": {
                "description": "What it is called with: names, numbers, sizes, expressions.",
                "type": "array",
                "items": {"$ref": "#/definitions/Expression"},
            },
            "dtypes": {
                "description": "In which it is checked. Default: the case's.",
                "type": "array",
                "items": {"enum": list(get_args(Dtype))},
                "minItems": 1,
            },
            "tolerance": {"$ref": "#/definitions/StatedTolerance"},
            "order": {"description": "1: second order is not checked.", "enum": [1, 2]},
            "autocast": {"description": "The dtype of `torch.autocast` around it.", "enum": ["bfloat16", "float16"]},
        },
    },
    "Implementations": {
        "anyOf": [
            {"$ref": "#/definitions/Reference"},
            {"$ref": "#/definitions/Implementation"},
            {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"$ref": "#/definitions/Reference"}, {"$ref": "#/definitions/Implementation"}]},
            },
        ]
    },
    "StatedTolerance": {"anyOf": [{"type": "number", "minimum": 0}, {"$ref": "#/definitions/Bounds"}]},
}


def schema() -> dict[str, Any]:
    """Return the schema of one YAML document of a case file."""
    made = Case.schema()
    records = Case.records_below().values()
    known = {record.__name__: {"title": record.__name__, **record.schema()} for record in records}
    definitions = {**known, **DEFINITIONS}
    made["required"] = ["inputs", "graph"]
    for section in ("inputs", "graph"):
        made["properties"][section]["minProperties"] = 1
    made["not"] = {"required": ["backward", "steps"]}
    definitions["Step"]["oneOf"] = [{"required": [action]} for action in ("backward", "zero_grad", "forward")]
    made["properties"]["tolerance"]["properties"] = DEFINITIONS["Bounds"]["properties"]
    definitions["Expression"] = {**DEFINITIONS["Expression"], "examples": calls()}
    made |= {"title": "gradcheck case", "definitions": dict(sorted(definitions.items()))}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made}


def calls() -> list[str]:
    """Return every op as it is called, such as `softmax(input, dim)`."""
    from gradcheck.autograd.op import whole_table

    return [
        f"{name}({', '.join(p.name for p in op.parameters if p.required or p.name == op.variadic)})"
        for name, op in sorted(whole_table().items())
        if name not in _ATTRIBUTE_OPS and not name.startswith("_")
    ]
