"""The shape of a case: its keys, their types and what they mean. It checks documents, and makes the schema for editors.

Values and expressions are only passed on here: what they say is checked where they are read, with better messages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from gradcheck.autograd import dtypes

Dtype = Literal["float64", "float32", "float16", "bfloat16", "complex64", "complex128"]
ErrorKind = Literal[
    "non_scalar_backward",
    "no_grad_required",
    "backward_twice",
    "shape_mismatch",
    "dtype_mismatch",
    "index_out_of_range",
    "domain_error",
]

# `x-ref` becomes a reference to one of the schema's own definitions.
Value = Annotated[Any, WithJsonSchema({"x-ref": "Value"})]
MaybeValue = Annotated[Any, WithJsonSchema({"x-ref": "MaybeValue"})]
Expression = Annotated[Any, WithJsonSchema({"x-ref": "Expression"})]
Derivations = Annotated[Any, WithJsonSchema({"x-ref": "Derivations"})]
Shape = Annotated[Any, WithJsonSchema({"x-ref": "Shape"})]
Tolerances = Annotated[Any, WithJsonSchema({"x-ref": "StatedTolerance"})]
Size = Annotated[int, Field(ge=0, le=100_000_000)]
Text = Annotated[str, Field(min_length=1)]
DATE = r"^\d{4}-\d{2}-\d{2}$"


def _roots(value: Any) -> Any:
    """`backward: z` is short for `backward: {z: null}`."""
    return {value: None} if isinstance(value, str) else value


#: What `zero_grad: all` stands for; no tensor can have this name, but one may be called `all`.
EVERYTHING = "*"


def _names(value: Any) -> Any:
    """`zero_grad: x` is short for `zero_grad: [x]`."""
    if isinstance(value, str):
        return [EVERYTHING if value == "all" else value]
    return value


def _generalize(value: Any) -> Any:
    """`generalize: true` is short for `generalize: {}`; what `false` means is seen where the document is read."""
    return {} if isinstance(value, bool) else value


class Strict(BaseModel):
    """Unknown keys are errors, and nothing is converted. Defaults are made, for one that is given is copied, deep, for
    every case."""

    model_config = ConfigDict(extra="forbid", strict=True)


_RootMapping = Annotated[dict[str, MaybeValue], Field(min_length=1)]
_Names = Annotated[list[Text], Field(min_length=1)]
Roots = Annotated[_RootMapping, BeforeValidator(_roots, json_schema_input_type=Text | _RootMapping)]


class Step(Strict):
    """One action, and what must then be true."""

    backward: Roots = Field(
        default_factory=dict, description="Run the backward pass from these roots; gradients accumulate."
    )
    zero_grad: Annotated[_Names, BeforeValidator(_names, json_schema_input_type=Text | _Names)] = Field(
        default_factory=list, description="Forget the gradients of a name, of a list of names, or of `all`."
    )
    forward: dict[str, Value] = Field(
        default_factory=dict, description="Evaluate the graph again, optionally with new values of inputs."
    )
    retain_graph: bool = Field(default=True, description="Of `backward`: keep the graph for another pass.")
    raises: ErrorKind = Field(default=cast(Any, None), description="The kind of error that every engine must raise.")
    values: dict[str, Value] = Field(default_factory=dict, description="Forward values that must then have come out.")
    expected: dict[str, MaybeValue] = Field(
        default_factory=dict, description="Gradients accumulated by then; null for none."
    )
    checks: list[Expression] = Field(default_factory=list, description="Identities that must then hold.")


class Generalize(Strict):
    """How claims are verified again, with other values and sizes."""

    trials: int = Field(default=3, ge=1, le=1000, description="How often.")
    dims: dict[str, Annotated[list[Size], Field(min_length=2, max_length=2)]] = Field(
        default_factory=dict, description="The lowest and the highest size, inclusive, for each symbolic size."
    )


class Xfail(Strict):
    """That the case must fail, in which claims alone, and until when."""

    reason: Text = Field(description="Why the case must fail.")
    only: Annotated[list[Text], Field(min_length=1)] = Field(
        default_factory=list,
        description="The claims that must fail, and no others: W1 for any about it, 'formula of b', check, or a text.",
    )
    until: Annotated[str, Field(pattern=DATE, json_schema_extra={"format": "date"})] = Field(
        default="", description="The last day on which it may fail, such as 2027-01-31."
    )


def _xfail(value: Any) -> Any:
    """`xfail: why` is short for `xfail: {reason: why}`."""
    return {"reason": value} if isinstance(value, str) else value


class Case(Strict):
    """A graph of tensors, where its backward pass starts, and what must be true of the gradients."""

    name: Text = Field(default="", description="Default: the file's stem. Unique within the file.")
    description: str = Field(default="", description="What the case shows.")
    source: str = Field(default="", description="Where the numbers or the derivation come from.")
    tags: list[Text] = Field(default_factory=list, description="Words for selection.")
    dtype: Dtype = Field(default="float64", description="Of inputs, of floating constants, and of the whole run.")
    seed: int = Field(default=0, description="For random creators; each name draws from its own stream.")
    dims: dict[str, Size] = Field(
        default_factory=dict, description="Symbolic sizes, usable as integers in any expression."
    )
    inputs: dict[str, Value] = Field(default_factory=dict, description="Leaves that require a gradient.")
    constants: dict[str, Value] = Field(
        default_factory=dict, description="Leaves that require none: indices, masks, labels, data."
    )
    graph: dict[str, Expression] = Field(
        default_factory=dict, description="The tensors computed, in order, each from those above it."
    )
    backward: Roots = Field(
        default_factory=dict, description="Where the backward pass starts. Default: the last name of `graph`."
    )
    steps: Annotated[list[Step], Field(min_length=1)] = Field(
        default_factory=list, description="Instead of `backward`: several passes, in order."
    )
    values: dict[str, Value] = Field(default_factory=dict, description="Forward values that must come out.")
    expected: dict[str, MaybeValue] = Field(
        default_factory=dict, description="Gradients that must come out; null for none."
    )
    formulas: dict[str, Derivations] = Field(
        default_factory=dict, description="Gradients derived by hand, each to be verified."
    )
    wrong_formulas: dict[str, Derivations] = Field(
        default_factory=dict, description="Derivations that must be refuted."
    )
    let: dict[str, Expression] = Field(default_factory=dict, description="Intermediate steps of a derivation.")
    checks: list[Expression] = Field(default_factory=list, description="Identities over values and gradients.")
    shapes: dict[str, Shape] = Field(default_factory=dict, description="Symbolic shapes of tensors given as literals.")
    generalize: Annotated[Generalize, BeforeValidator(_generalize, json_schema_input_type=bool | Generalize)] = Field(
        default_factory=Generalize,
        description="Whether and how to verify with other values and sizes. Default: where there are claims.",
    )
    tolerance: dict[str, Tolerances] = Field(default_factory=dict, description="For what the file claims.")
    only: list[Text] = Field(default_factory=list, description="The engines that the case is meant for. Default: all.")
    skip: Text = Field(default="", description="Why the case is not to be run.")
    xfail: Annotated[Xfail, BeforeValidator(_xfail, json_schema_input_type=Text | Xfail)] = Field(
        default=cast(Any, None), description="Why the case must fail; or in which claims alone, and until when."
    )


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
            "atol": {"type": "number", "minimum": 0, "description": "Absolute, as in NumPy; 0 unless given."},
        },
    },
    "StatedTolerance": {"anyOf": [{"type": "number", "minimum": 0}, {"$ref": "#/definitions/Bounds"}]},
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
    made |= {"title": "gradcheck case", "definitions": dict(sorted(definitions.items()))}
    return cast(dict[str, Any], _clean({"$schema": "http://json-schema.org/draft-07/schema#", **made}))


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
