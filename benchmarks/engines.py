"""`python -m benchmarks.engines`: how well other people's engines do, as the README's table.

Every shipped case but the cookbook's, and every op of the table, for engines that are installed; those that are not
are left out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from gradcheck.checks.conformance.engine_conformance import Conformance, ConformanceStatus, conform
from gradcheck.engines.resolve import resolve_engine
from gradcheck.errors import UsageError

#: What is installed under which name, and how it is asked for.
ENGINES = {
    "MyGrad": ("mygrad", "mygrad:tensor"),
    "HIPS autograd": ("autograd", "hips"),
    "micrograd": ("micrograd", "micrograd.engine:Value"),
    "JAX": ("jax", "jax"),
}
_TITLES = ("engine", "`--engine`", "cases: right / wrong / cannot express", "ops: the same", "properties that fail")


def rows() -> Iterator[str]:
    """A line an engine."""
    for title, (package, name) in ENGINES.items():
        try:
            version = metadata.version(package)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = conform(resolve_engine(name), _themes())
        except (metadata.PackageNotFoundError, UsageError) as error:
            print(f"{title} is left out: {error}", file=sys.stderr)
            continue
        yield f"| {title} {version} | `{name}` | {' | '.join(_cells(found))} |"


def _themes() -> list[str]:
    return [str(folder) for folder in sorted(Path("cases").iterdir()) if folder.name != "cookbook"]


def _cells(found: Conformance) -> tuple[str, str, str]:
    standings: tuple[ConformanceStatus, ...] = ("right", "wrong", "lacking")
    ops = list(found.ops.values())
    failing = [one.name for one in found.properties if one.status == "fails"]
    return (
        " / ".join(str(found.count(word)) for word in standings),
        " / ".join(str(ops.count(word)) for word in standings),
        "; ".join(failing) or "none",
    )


if __name__ == "__main__":
    print(f"| {' | '.join(_TITLES)} |\n|{'---|' * len(_TITLES)}")
    for row in rows():
        print(row, flush=True)
