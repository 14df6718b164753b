"""`python -m benchmarks.cookbook`: the cookbook's index and its page, from the cases in `cases/cookbook/`.

Which formulas are proved, and numbers for which what is printed elsewhere is wrong, stand in the index beside what the
file says: cases that the index does not know as they are now are run, with `--afresh` all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from gradcheck import load, run
from gradcheck.checks.result import CaseResult
from gradcheck.cli.cookbook_command import cookbook_page
from gradcheck.language.case import Case, Claim, Value
from gradcheck.language.cookbook.cookbook_entries import INDEX, Entry, Mistake, entries, keys_of
from gradcheck.language.expr.nodes import Call, Expr, Name, Sequence
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.sampling import draw
from gradcheck.reports.phrases import say

ROOT = Path(__file__).parent.parent
#: Sizes that tell symbolic ones apart.
_PRIMES = (5, 7, 11, 13, 17, 19, 23)


def main(options: list[str]) -> int:
    cases, errors = load([str(ROOT / "cases" / "cookbook")])
    known = {} if "--afresh" in options else {(entry.theme, entry.name): entry for entry in entries()}
    places = [(Path(case.place.file).stem, case.name) for case in cases]
    made = [entry_of(case, known.get(place)) for case, place in zip(cases, places, strict=True)]
    new = [i for i, place in enumerate(places) if place not in known or said(made[i]) != said(known[place])]
    results = run([cases[i] for i in new]).cases
    if errors or any(result.status != "passed" for result in results):
        print("not all cases pass: gradcheck run cases/cookbook", file=sys.stderr)
        return 1
    for i, result in zip(new, results, strict=True):
        wrong = [replace(m, counterexample=_counterexample(cases[i], m)) for m in made[i].wrong]
        made[i] = replace(made[i], proved=proved_in(result), wrong=wrong)
    INDEX.write_text(index(made), encoding="utf-8")
    (ROOT / "docs" / "cookbook.md").write_text(cookbook_page(entries(index(made))), encoding="utf-8")
    proved = sum(set(one.proved) == set(one.formulas) for one in made)
    print(f"{len(made)} entries, {proved} of them proved; {len(new)} were run")
    return 0


def said(entry: Entry) -> Entry:
    """What the file says, without what only a run can say."""
    return replace(
        entry, proved=(), keys=(), wrong=tuple(replace(mistake, counterexample="") for mistake in entry.wrong)
    )


def index(made: list[Entry]) -> str:
    """As JSON, an entry a line."""
    lines = (json.dumps(_data(entry), ensure_ascii=False, separators=(",", ":")) for entry in made)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _data(entry: Entry) -> dict[str, Any]:
    optional = {one.name for one in fields(Entry) if one.default is not MISSING or one.default_factory is not MISSING}
    data = {name: value for name, value in asdict(entry).items() if value or name not in optional}
    data["wrong"] = [[m.tensor, m.formula, m.why, m.counterexample] for m in entry.wrong]
    return data


def entry_of(case: Case, known: Entry | None = None) -> Entry:
    """A case as an entry, with what is known of a run of it."""
    told = {(m.tensor, m.formula): m.counterexample for m in (known.wrong if known else ())}
    roots = case.steps[-1].roots
    lines = Path(case.place.file).read_text(encoding="utf-8").splitlines()
    arrays = draw(case)
    ranks = {name: array.ndim for name, array in (*arrays.inputs.items(), *arrays.constants.items())}
    ranks |= dict.fromkeys(case.dims, 0)
    graph = {name: claim.expr for name, claim in case.graph.items()}
    return Entry(
        case.name,
        Path(case.place.file).stem,
        case.description,
        case.source,
        _shapes(case),
        list(case.inputs),
        _texts(case.graph),
        [name for name, value in roots.items() if value is not None],
        {name: [claim.text for claim in claims] for name, claims in case.formulas.items()},
        _texts(case.let),
        tuple(
            Mistake(name, claim.text, _comment(lines, claim), told.get((name, claim.text), ""))
            for name, claims in case.wrong_formulas.items()
            for claim in claims
        ),
        known.proved if known else (),
        tuple(keys_of(graph, _spellings(case, next(iter(roots))), ranks, _made(case))) if len(roots) == 1 else (),
    )


def _spellings(case: Case, root: str) -> list[Expr]:
    """The root, and what a check says it equals, if that is so for any tensors."""
    if any(structure_of(case, name) for name in case.inputs):
        return [Name(root)]
    equal = [c.expr.args for c in case.checks if isinstance(c.expr, Call) and c.expr.op == "eq"]
    return [Name(root), *(right for left, right in equal if left == Name(root))]


def _made(case: Case) -> list[str]:
    """What is made of constants alone, so that it has a structure: to who looks something up, it is a constant."""
    made: list[str] = []
    for name, claim in case.graph.items():
        if free_names(claim.expr).keys() <= {*case.constants, *case.dims, *made}:
            made.append(name)
    return made


def proved_in(result: CaseResult) -> list[str]:
    """The tensors all of whose formulas are proved."""
    proved: dict[str, dict[str, bool]] = {}
    for c in result.comparisons:
        if c.what == "formula":
            texts = proved.setdefault(c.tensor, {})
            texts[c.formula] = texts.get(c.formula, False) or c.certificate is not None
    return [tensor for tensor, texts in proved.items() if all(texts.values())]


def _texts(claims: Mapping[str, Claim]) -> dict[str, str]:
    return {name: claim.text for name, claim in claims.items()}


def _comment(lines: list[str], claim: Claim) -> str:
    """What stands behind a claim in its line."""
    return lines[claim.place.line - 1].partition("   # ")[2]


def _counterexample(case: Case, mistake: Mistake) -> str:
    """Small numbers for which what is printed is wrong."""
    if "erratum" not in case.tags:
        return ""
    claims = [claim for claim in case.wrong_formulas[mistake.tensor] if claim.text == mistake.formula]
    (failed,) = run([replace(case, formulas={mistake.tensor: tuple(claims)}, wrong_formulas={})]).cases
    told = [d.message for c in failed.comparisons for d in c.diagnoses if d.kind == "counterexample"]
    return say(told[0]).removeprefix("counterexample: ") if told else ""


# Shapes ----------------------------------------------------------------------------------------------


def _shapes(case: Case) -> dict[str, str]:
    """Each leaf's shape, in the case's own symbols."""
    leaves = (*case.inputs.items(), *case.constants.items())
    return {name: _shape(case, name, value) + structure_of(case, name) for name, value in leaves}


def structure_of(case: Case, name: str) -> str:
    """What a tensor is that a creator does not draw freely, behind its shape."""
    value = {**case.inputs, **case.constants}[name]
    array = {**(found := draw(case)).inputs, **found.constants}[name]
    free = value.expr is None or _sizes(value.expr) is not None
    if free or array.ndim != 2 or array.shape[0] != array.shape[1]:
        return ""
    lower = np.array_equal(array, np.tril(array))
    return " symmetric" if np.array_equal(array, array.T) else " lower triangular" if lower else ""


def _shape(case: Case, name: str, value: Value) -> str:
    sizes = _sizes(value.expr) if value.expr is not None else None
    if sizes is not None:
        return f"({', '.join(sizes)})"
    problem = draw(case)
    known = {size: dim for dim, size in reversed(case.dims.items())}
    try:
        primes = dict(zip(case.dims, _PRIMES, strict=False))
        problem = draw(replace(case, dims=primes))
        known = {size: dim for dim, size in primes.items()}
    except Exception:  # what is written out has sizes of its own
        pass
    array = problem.inputs.get(name, problem.constants.get(name))
    assert array is not None
    return f"({', '.join(known.get(size, str(size)) for size in array.shape)})"


def _sizes(expr: Expr) -> list[str] | None:
    """The sizes that a creator is given."""
    if not isinstance(expr, Call):
        return None
    given = expr.args
    if expr.op in ("uniform", "randint") and len(given) == 3:
        given = (given[2],)
    elif expr.op not in ("randn", "rand"):
        return None
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = given[0].items
    return [to_text(one) for one in given]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
