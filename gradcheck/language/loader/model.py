"""The keys of a case file, with their types and descriptions.

`validate` checks documents against this model, and `schema` makes the JSON Schema for editors from it. Values and
expressions are checked where they are read, with better messages. A key of a plain type (text, numbers, words) reaches
the field of `case.Case` that has its name, and `case_writer` writes it, without further code.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from gradcheck.language.loader.schema_types import (
    Choice,
    Flag,
    Integer,
    ListType,
    MappingType,
    RecordType,
    SchemaRecord,
    SchemaType,
    Shorthand,
    Text,
    key,
)

Dtype = Literal["float64", "float32", "float16", "bfloat16", "complex64", "complex128"]
ErrorKind = Literal[
    "non_scalar_backward", "no_grad_required", "backward_twice", "shape_mismatch", "dtype_mismatch",
    "index_out_of_range", "domain_error",
]  # fmt: skip

WORD, SIZE = Text(least=1), Integer(0, 100_000_000)
# Types that are read elsewhere, by their definitions in the schema.
VALUE, MAYBE_VALUE, EXPRESSION, DERIVATIONS = map(SchemaType, ("Value", "MaybeValue", "Expression", "Derivations"))
SHAPE, TOLERANCES, CODE = map(SchemaType, ("Shape", "StatedTolerance", "Implementations"))
DATE = Text(pattern=r"^\d{4}-\d{2}-\d{2}$", form="date", usage=("a date", "write it as 2027-01-31"))
REASON = Text(least=1, usage=("text", "say why, as in 'skip: needs a GPU'"))
#: Derivations by two tensors.
DERIVATIVES = MappingType(
    MappingType(DERIVATIONS, least=1, usage=("a mapping", "write {y: {x: diag(1 - y ** 2) @ W}}"))
)
#: The usage of a key that may also be true or false.
FLAG_OR_MAPPING = ("true, false or a mapping", "write {trials: 3, dims: {n: [1, 7]}}")


def _roots(value: Any) -> Any:
    """Expand `backward: z` to `backward: {z: null}`."""
    return {value: None} if isinstance(value, str) else value


#: The value of `zero_grad: all`; no tensor can have this name, but one may be called `all`.
EVERYTHING = "*"


def _names(value: Any) -> Any:
    """Expand `zero_grad: x` to `zero_grad: [x]`."""
    if isinstance(value, str):
        return [EVERYTHING if value == "all" else value]
    return value


def _generalize(value: Any) -> Any:
    """Expand `generalize: true` to `generalize: {}`; the builder sees `false`."""
    return {} if isinstance(value, bool) else value


def _xfail(value: Any) -> Any:
    """Expand `xfail: why` to `xfail: {reason: why}`."""
    return {"reason": value} if isinstance(value, str) else value


ROOTS = Shorthand(
    WORD,
    _roots,
    MappingType(MAYBE_VALUE, least=1),
    ("a name or a mapping", "write 'backward: z', or 'backward: {z: gradient}'"),
)


class Step(SchemaRecord):
    """One action, and what must then be true."""

    backward: dict[str, Any] = key(
        ROOTS,
        "Run the backward pass from these roots; gradients accumulate.",
        ["z", {"z": [0.1, 1.0, 0.0001]}],
        dict,
    )
    zero_grad: list[str] = key(
        Shorthand(WORD, _names, ListType(WORD, least=1), ("a name, a list of names, or 'all'", "")),
        "Forget the gradients of a name, of a list of names, or of `all`.",
        ["x", ["x", "w"], "all"],
        list,
    )
    forward: dict[str, Any] = key(
        MappingType(VALUE),
        "Evaluate the graph again, optionally with new values of inputs.",
        [{}, {"x": [1, 2, 3]}],
        dict,
    )
    retain_graph: bool = key(Flag(), "Of `backward`: keep the graph for another pass.", [False], lambda: True)
    raises: ErrorKind | None = key(
        Choice(get_args(ErrorKind)), "The kind of error that every engine must raise.", ["backward_twice"], lambda: None
    )
    values: dict[str, Any] = key(
        MappingType(VALUE), "Forward values that must then have come out.", [{"loss": 1.5}], dict
    )
    expected: dict[str, Any] = key(
        MappingType(MAYBE_VALUE), "Gradients accumulated by then; null for none.", [{"x": [2, 4], "w": None}], dict
    )
    checks: list[Any] = key(ListType(EXPRESSION), "Identities that must then hold.", [["grad(x) == 2 * x"]], list)


class Generalize(SchemaRecord):
    """Settings of the trials, which verify claims with other values and sizes."""

    trials: int = key(Integer(1, 1000), "How often.", [3], lambda: 3)
    dims: dict[str, list[int]] = key(
        MappingType(ListType(SIZE, least=2, most=2)),
        "The lowest and the highest size, inclusive, for each symbolic size.",
        [{"n": [1, 7]}],
        dict,
    )


class Xfail(SchemaRecord):
    """An expected failure: its reason, its claims and its last day."""

    reason: str = key(WORD, "Why the case must fail.", ["det is wrong at a singular matrix"])
    only: list[str] = key(
        ListType(WORD, least=1),
        "The claims that must fail, and no others: W1 for any about it, 'formula of b', check, or a text.",
        [["W1", "formula of b"]],
        list,
    )
    until: str = key(DATE, "The last day on which it may fail, such as 2027-01-31.", ["2027-01-31"], str)


class Case(SchemaRecord):
    """A graph of tensors, its backward pass, and claims about its gradients."""

    name: str = key(WORD, "Default: the file's stem. Unique within the file.", ["chain of four matrices"], str)
    description: str = key(Text(), "What the case shows.", ["A sum over a product, with respect to each factor."], str)
    source: str = key(Text(), "Where the numbers or the derivation come from.", ["hand derivation, notebook 2"], str)
    tags: list[str] = key(ListType(WORD), "Words for selection.", [["slow", "mlp"]], list)
    dtype: Dtype = key(
        Choice(get_args(Dtype)),
        "Of inputs, of floating constants, and of the whole run.",
        ["float32"],
        lambda: "float64",
    )
    seed: int = key(Integer(), "For random creators; each name draws from its own stream.", [0], int)
    dims: dict[str, int] = key(
        MappingType(SIZE), "Symbolic sizes, usable as integers in any expression.", [{"n": 4, "d": 3}], dict
    )
    inputs: dict[str, Any] = key(
        MappingType(VALUE), "Leaves that require a gradient.", [{"x": [[1, 2], [3, 4]], "w": "randn(n, d)"}], dict
    )
    constants: dict[str, Any] = key(
        MappingType(VALUE),
        "Leaves that require none: indices, masks, labels, data.",
        [{"t": "randint(0, 5, [n])", "mask": [True, False]}],
        dict,
    )
    graph: dict[str, Any] = key(
        MappingType(EXPRESSION),
        "The tensors computed, in order, each from those above it.",
        [{"h": "tanh(x @ w)", "loss": "h.sum()"}],
        dict,
    )
    backward: dict[str, Any] = key(
        ROOTS,
        "Where the backward pass starts. Default: the last name of `graph`.",
        ["loss", {"h": "randn_like(h)"}],
        dict,
    )
    steps: list[Step] = key(
        ListType(RecordType(Step), least=1),
        "Instead of `backward`: several passes, in order.",
        [[{"backward": "loss"}, {"zero_grad": "all"}]],
        list,
    )
    values: dict[str, Any] = key(MappingType(VALUE), "Forward values that must come out.", [{"loss": 1.5}], dict)
    expected: dict[str, Any] = key(
        MappingType(MAYBE_VALUE), "Gradients that must come out; null for none.", [{"x": [2, 4], "w": None}], dict
    )
    formulas: dict[str, Any] = key(
        MappingType(DERIVATIONS), "Gradients derived by hand, each to be verified.", [{"w": "x.T @ grad(h)"}], dict
    )
    wrong_formulas: dict[str, Any] = key(
        MappingType(DERIVATIONS), "Derivations that must be refuted.", [{"w": "x @ grad(h)"}], dict
    )
    jacobians: dict[str, Any] = key(
        DERIVATIVES,
        "Derivatives of one tensor by another; the shape is that of the first, then that of the second.",
        [{"y": {"x": "diag(1 - y ** 2) @ W"}}],
        dict,
    )
    wrong_jacobians: dict[str, Any] = key(
        DERIVATIVES, "Jacobians that must be refuted.", [{"y": {"x": "W.T @ diag(1 - y ** 2)"}}], dict
    )
    hessians: dict[str, Any] = key(
        DERIVATIVES,
        "Second derivatives of a tensor of one element, by one tensor, or by two for mixed ones.",
        [{"loss": {"w": "X.T @ diag(s * (1 - s)) @ X / n", "w, b": "X.T @ (s * (1 - s)) / n"}}],
        dict,
    )
    wrong_hessians: dict[str, Any] = key(
        DERIVATIVES, "Hessians that must be refuted.", [{"loss": {"w": "X.T @ X / n"}}], dict
    )
    let: dict[str, Any] = key(
        MappingType(EXPRESSION), "Intermediate steps of a derivation.", [{"dh": "grad(y) @ W.T"}], dict
    )
    checks: list[Any] = key(
        ListType(EXPRESSION), "Identities over values and gradients.", [["(grad(x) * x).sum() == loss"]], list
    )
    shapes: dict[str, Any] = key(
        MappingType(SHAPE),
        "Symbolic shapes of tensors given as literals.",
        [{"x": ["n", "d"], "s": "uniform(0.1, 2, [n])"}],
        dict,
    )
    generalize: Generalize = key(
        Shorthand(Flag(), _generalize, RecordType(Generalize), FLAG_OR_MAPPING),
        "Whether and how to verify with other values and sizes. Default: where there are claims.",
        [False, {"trials": 5, "dims": {"n": [1, 7]}}],
        Generalize,
    )
    implementations: dict[str, Any] = key(
        MappingType(CODE),
        "Somebody's own code for an entry of `graph`, held to what the entry says.",
        [{"y": "layers.py:Gelu.apply"}, {"y": {"forward": "layers.py:fwd", "backward": "layers.py:bwd"}}],
        dict,
    )
    tolerance: dict[str, Any] = key(
        MappingType(TOLERANCES, usage=("a mapping", "write {rtol: 1e-6, atol: 1e-9}")),
        "For what the file claims.",
        [{"rtol": 1e-6}, {"x": {"atol": 1e-9}}],
        dict,
    )
    only: list[str] = key(
        ListType(WORD, least=1), "The engines that the case is meant for. Default: all.", [["core", "mine"]], list
    )
    skip: str | None = key(REASON, "Why the case is not to be run.", ["needs a GPU"], lambda: None)
    xfail: Xfail | None = key(
        Shorthand(
            WORD,
            _xfail,
            RecordType(Xfail),
            ("text or a mapping", "say why, as in 'xfail: det is wrong at a singular matrix'"),
        ),
        "Why the case must fail; or in which claims alone, and until when.",
        ["torch is wrong here", {"reason": "a bug", "only": ["formula of b"], "until": "2027-01-31"}],
        lambda: None,
    )
