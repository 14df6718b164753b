"""Random graphs, full of reuse and broadcasting: the core agrees with torch on every value and every gradient."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.checks.scheduling.run import run
from gradcheck.language.loader import load_text

#: What takes matrices (m, n) or rows (r, s) of size 3, and what it makes.
MATRICES = [
    *["{m} + {n}", "{m} - {n}", "{m} * {n}", "{m} / ({n} * {n} + 1)", "{m} @ {n}", "tanh({m}) @ {n}.T", "{m} + {r}"],
    *["{m} * {r}", "sigmoid({m})", "softmax({m}, dim=1)", "{m}.T", "torch.outer({r}, {s})", "maximum({m}, {n})"],
    *["{m}.cumsum(dim=0)", "stack([{r}, {s}, {r}])", "where({m} > {n}, {m}, sin({n}))", "{m}.roll(1, 0)"],
    "einsum('ij,kj->ik', {m}, {n})",
]
ROWS = [
    *["{m}.sum(dim=0)", "{m}.mean(dim=1)", "{m}[1]", "{m}[:, 0] * {r}", "{m} @ {r}", "{r} * {s}", "{r} - {s}"],
    *["exp(tanh({r}))", "{m}.diagonal()", "logsumexp({m}, dim=0)", "{r}.flip(0)", "{m}.amax(dim=1)"],
    "tanh({m}).prod(dim=0)",
]
STEP = st.tuples(
    st.booleans(), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)
)


def graph_of(steps: list[tuple[bool, int, int, int, int, int]]) -> str:
    """A case whose graph takes each step over what there is so far, and whose loss is reached from its last entries."""
    matrices, rows, lines = ["a", "b"], ["u", "v"], []
    for number, (makes_matrix, template, i, j, k, q) in enumerate(steps):
        known = {"m": matrices[i % len(matrices)], "n": matrices[j % len(matrices)]}
        known |= {"r": rows[k % len(rows)], "s": rows[q % len(rows)]}
        choices, made = (MATRICES, matrices) if makes_matrix else (ROWS, rows)
        lines.append(f"  h{number}: {choices[template % len(choices)].format(**known)}")
        made.append(f"h{number}")
    loss = f"(tanh({matrices[-1]}) * {matrices[-2]}).sum() + (tanh({rows[-1]}) * {rows[-2]}).sum()"
    leaves = "inputs: {a: 'randn(3, 3)', b: 'randn(3, 3)', u: randn(3), v: randn(3)}"
    return "\n".join([leaves, "graph:", *lines, f"  loss: {loss}"])


@given(st.lists(STEP, min_size=1, max_size=12), st.integers(0, 1000))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_core_and_torch_agree(steps: list[tuple[bool, int, int, int, int, int]], seed: int) -> None:
    cases, errors = load_text(graph_of(steps), "random.yaml")
    assert not errors
    (case,) = run(cases, seed=seed).cases
    assert case.status == "passed", [c for c in case.comparisons if c.status != "passed"]
    assert sum(c.what == "gradient" for c in case.comparisons) == 4 + len(steps) + 1
