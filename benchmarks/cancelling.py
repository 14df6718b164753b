"""Chains of functions that saturate or cancel, where engines lose digits: is anybody blamed who is right?

Each chain is checked as it stands, with its gradient to fifteen digits as `expected`, and with one element of that off
by a millionth. The gradient is mpmath's: differences of the forward in 120 digits.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Value
from gradcheck.language.loader import load_text
from gradcheck.language.sampling import draw
from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient

CHAINS = 1_000
#: Of three numbers each, from 1e-12 to 90 and of both signs.
FUNCTIONS = (
    *("sigmoid({})", "log(sigmoid({}))", "logsigmoid({})", "log1p(exp({}))", "softplus({}, 1, inf)", "tanh({})"),
    *("log(cosh({}))", "erf({})", "erfc({})", "log(1 - sigmoid({}))", "exp(-{} ** 2)", "expm1({})", "log1p({} ** 2)"),
    *("sqrt({} ** 2 + 1) - 1", "1 - cos({})", "{} - sin({})", "atan({})", "asinh({})", "softmax({}, 0)", "gelu({})"),
    *("log_softmax({}, 0)", "silu({})", "mish({})", "digamma(abs({}) + 0.5)", "lgamma(abs({}) + 0.1)", "sinc({})"),
    *("polygamma(1, abs({}) + 0.3)", "1 / (1 + exp(-{}))", "exp({}) - 1", "atanh(tanh({}))", "logit(sigmoid({}))"),
    *("acosh(1 + {} ** 2)", "rsqrt({} ** 2 + 1e-12)", "special.log_ndtr({})", "special.ndtr({})", "elu({})"),
    *("selu({})", "hardsigmoid({})", "logaddexp({}, c)", "{} * log(abs({}) + 1e-30)", "layer_norm({}, [3])"),
    *("normalize({}, dim=0)", "binary_cross_entropy_with_logits({}, c, reduction='none')"),
)


def chain(number: int) -> Case:
    """One to three of the functions, in double precision or, each third time, in single."""
    chosen = random.Random(number)
    last, graph = "x", {}
    for place in range(chosen.choice((1, 1, 2, 2, 3))):
        graph[f"v{place}"] = chosen.choice(FUNCTIONS).replace("{}", last)
        last = f"v{place}"
    graph["loss"] = f"({last} * {last}).sum() + {last}.sum()"
    document = {
        "dtype": "float32" if number % 3 == 0 else "float64",
        "inputs": {"x": [chosen.choice((-1, 1)) * 10 ** chosen.uniform(-12, 1.95) for _ in range(3)]},
        "constants": {"c": [chosen.random() for _ in range(3)]},
        "graph": graph,
    }
    (case,), errors = load_text(json.dumps(document), f"chain-{number}.yaml")
    assert not errors, errors
    return case


def true_gradient(case: Case) -> np.ndarray | None:
    """The gradient rounded once; None at a kink, or where the graph leaves double precision."""
    oracle = numeric_gradient(draw(case), "x", 0)
    try:
        found = oracle.deciding_partials(range(3), np.zeros(3), np.zeros(3))
    except GradcheckError:
        return None
    return found.value if found.method == "high precision" and np.all(found.value) else None


def rows() -> Iterator[Row]:
    seen: Counter[str] = Counter()
    blamed = []
    for number in range(CHAINS):
        case = chain(number)
        plain = run(case).cases[0]
        seen["chains"] += 1
        seen["torch is wrong"] += bool(plain.wrong_references)
        if plain.status != "passed":
            blamed.append(number)
        gradient = true_gradient(case) if case.dtype == "float64" else None
        if plain.status == "passed" and gradient is not None and np.isfinite(gradient).all():
            wrong = gradient * np.array([1.0, 1.0 + 1e-6, 1.0])
            right, slip = (run(replace(case, expected={"x": Value(array=one)})).cases[0] for one in (gradient, wrong))
            seen["stated"] += 1
            seen["right"] += right.status == "passed"
            seen["found"] += slip.status == "failed"
    details = f"failed: {', '.join(map(str, blamed)) or 'none'}; torch is wrong in {seen['torch is wrong']}"
    yield _row("chains that saturate or cancel", seen["chains"] - len(blamed), CHAINS, "pass", details)
    noise = "the others are within the rounding of the engines, which are off by as much"
    yield _row("their true gradients, stated", seen["right"], seen["stated"], "pass", noise)
    yield _row("the same with one element off by a millionth", seen["found"], seen["stated"], "fail", noise)


def _row(what: str, count: int, of: int, outcome: str, details: str) -> Row:
    return Row(what, f"{count:,} of {of:,} {outcome}", "90 %", count >= 0.9 * of, details)
