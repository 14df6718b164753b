"""The shape of a case: its keys, their types and what they mean. It checks documents, and `schema` makes of it what
editors read.

Values and expressions are only passed on here: what they say is checked where they are read, with better messages.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

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
Code = Annotated[Any, WithJsonSchema({"x-ref": "Implementations"})]
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
        default_factory=dict,
        description="Run the backward pass from these roots; gradients accumulate.",
        examples=["z", {"z": [0.1, 1.0, 0.0001]}],
    )
    zero_grad: Annotated[_Names, BeforeValidator(_names, json_schema_input_type=Text | _Names)] = Field(
        default_factory=list,
        description="Forget the gradients of a name, of a list of names, or of `all`.",
        examples=["x", ["x", "w"], "all"],
    )
    forward: dict[str, Value] = Field(
        default_factory=dict,
        description="Evaluate the graph again, optionally with new values of inputs.",
        examples=[{}, {"x": [1, 2, 3]}],
    )
    retain_graph: bool = Field(
        default=True, description="Of `backward`: keep the graph for another pass.", examples=[False]
    )
    raises: ErrorKind = Field(
        default=cast(Any, None),
        description="The kind of error that every engine must raise.",
        examples=["backward_twice"],
    )
    values: dict[str, Value] = Field(
        default_factory=dict, description="Forward values that must then have come out.", examples=[{"loss": 1.5}]
    )
    expected: dict[str, MaybeValue] = Field(
        default_factory=dict,
        description="Gradients accumulated by then; null for none.",
        examples=[{"x": [2, 4], "w": None}],
    )
    checks: list[Expression] = Field(
        default_factory=list, description="Identities that must then hold.", examples=[["grad(x) == 2 * x"]]
    )


class Generalize(Strict):
    """How claims are verified again, with other values and sizes."""

    trials: int = Field(default=3, ge=1, le=1000, description="How often.", examples=[3])
    dims: dict[str, Annotated[list[Size], Field(min_length=2, max_length=2)]] = Field(
        default_factory=dict,
        description="The lowest and the highest size, inclusive, for each symbolic size.",
        examples=[{"n": [1, 7]}],
    )


class Xfail(Strict):
    """That the case must fail, in which claims alone, and until when."""

    reason: Text = Field(description="Why the case must fail.", examples=["det is wrong at a singular matrix"])
    only: Annotated[list[Text], Field(min_length=1)] = Field(
        default_factory=list,
        description="The claims that must fail, and no others: W1 for any about it, 'formula of b', check, or a text.",
        examples=[["W1", "formula of b"]],
    )
    until: Annotated[str, Field(pattern=DATE, json_schema_extra={"format": "date"})] = Field(
        default="", description="The last day on which it may fail, such as 2027-01-31.", examples=["2027-01-31"]
    )


def _xfail(value: Any) -> Any:
    """`xfail: why` is short for `xfail: {reason: why}`."""
    return {"reason": value} if isinstance(value, str) else value


class Case(Strict):
    """A graph of tensors, where its backward pass starts, and what must be true of the gradients."""

    name: Text = Field(
        default="", description="Default: the file's stem. Unique within the file.", examples=["chain of four matrices"]
    )
    description: str = Field(
        default="", description="What the case shows.", examples=["A sum over a product, with respect to each factor."]
    )
    source: str = Field(
        default="",
        description="Where the numbers or the derivation come from.",
        examples=["hand derivation, notebook 2"],
    )
    tags: list[Text] = Field(default_factory=list, description="Words for selection.", examples=[["slow", "mlp"]])
    dtype: Dtype = Field(
        default="float64", description="Of inputs, of floating constants, and of the whole run.", examples=["float32"]
    )
    seed: int = Field(default=0, description="For random creators; each name draws from its own stream.", examples=[0])
    dims: dict[str, Size] = Field(
        default_factory=dict,
        description="Symbolic sizes, usable as integers in any expression.",
        examples=[{"n": 4, "d": 3}],
    )
    inputs: dict[str, Value] = Field(
        default_factory=dict,
        description="Leaves that require a gradient.",
        examples=[{"x": [[1, 2], [3, 4]], "w": "randn(n, d)"}],
    )
    constants: dict[str, Value] = Field(
        default_factory=dict,
        description="Leaves that require none: indices, masks, labels, data.",
        examples=[{"t": "randint(0, 5, [n])", "mask": [True, False]}],
    )
    graph: dict[str, Expression] = Field(
        default_factory=dict,
        description="The tensors computed, in order, each from those above it.",
        examples=[{"h": "tanh(x @ w)", "loss": "h.sum()"}],
    )
    backward: Roots = Field(
        default_factory=dict,
        description="Where the backward pass starts. Default: the last name of `graph`.",
        examples=["loss", {"h": "randn_like(h)"}],
    )
    steps: Annotated[list[Step], Field(min_length=1)] = Field(
        default_factory=list,
        description="Instead of `backward`: several passes, in order.",
        examples=[[{"backward": "loss"}, {"zero_grad": "all"}]],
    )
    values: dict[str, Value] = Field(
        default_factory=dict, description="Forward values that must come out.", examples=[{"loss": 1.5}]
    )
    expected: dict[str, MaybeValue] = Field(
        default_factory=dict,
        description="Gradients that must come out; null for none.",
        examples=[{"x": [2, 4], "w": None}],
    )
    formulas: dict[str, Derivations] = Field(
        default_factory=dict,
        description="Gradients derived by hand, each to be verified.",
        examples=[{"w": "x.T @ grad(h)"}],
    )
    wrong_formulas: dict[str, Derivations] = Field(
        default_factory=dict, description="Derivations that must be refuted.", examples=[{"w": "x @ grad(h)"}]
    )
    let: dict[str, Expression] = Field(
        default_factory=dict, description="Intermediate steps of a derivation.", examples=[{"dh": "grad(y) @ W.T"}]
    )
    checks: list[Expression] = Field(
        default_factory=list,
        description="Identities over values and gradients.",
        examples=[["(grad(x) * x).sum() == loss"]],
    )
    shapes: dict[str, Shape] = Field(
        default_factory=dict,
        description="Symbolic shapes of tensors given as literals.",
        examples=[{"x": ["n", "d"], "s": "uniform(0.1, 2, [n])"}],
    )
    generalize: Annotated[Generalize, BeforeValidator(_generalize, json_schema_input_type=bool | Generalize)] = Field(
        default_factory=Generalize,
        description="Whether and how to verify with other values and sizes. Default: where there are claims.",
        examples=[False, {"trials": 5, "dims": {"n": [1, 7]}}],
    )
    implementations: dict[str, Code] = Field(
        default_factory=dict,
        description="Somebody's own code for an entry of `graph`, held to what the entry says.",
        examples=[{"y": "layers.py:Gelu.apply"}, {"y": {"forward": "layers.py:fwd", "backward": "layers.py:bwd"}}],
    )
    tolerance: dict[str, Tolerances] = Field(
        default_factory=dict, description="For what the file claims.", examples=[{"rtol": 1e-6}, {"x": {"atol": 1e-9}}]
    )
    only: list[Text] = Field(
        default_factory=list,
        description="The engines that the case is meant for. Default: all.",
        examples=[["core", "mine"]],
    )
    skip: Text = Field(default="", description="Why the case is not to be run.", examples=["needs a GPU"])
    xfail: Annotated[Xfail, BeforeValidator(_xfail, json_schema_input_type=Text | Xfail)] = Field(
        default=cast(Any, None),
        description="Why the case must fail; or in which claims alone, and until when.",
        examples=["torch is wrong here", {"reason": "a bug", "only": ["formula of b"], "until": "2027-01-31"}],
    )
