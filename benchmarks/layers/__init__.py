"""Real layers, by hand, as Functions and as pairs on NumPy arrays: right, and each with three plausible mistakes.

`python -m benchmarks layers` prints how many are told for what they are, and of how many of the wrong ones the mistake
is named.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.timing import Row
from gradcheck import run
from gradcheck.checks.result import CaseResult

FOLDER = Path(__file__).parent
SOURCES = ("dense", "norms", "losses", "sequences")
#: Of the wrong ones the mistake must be named in so large a part.
NAMED = 0.9


@dataclass(frozen=True)
class Document:
    """One case, with the code that it names; `bug` says what was planted, "" in right code."""

    name: str
    case: dict[str, Any]
    code: str
    bug: str = ""


def documents() -> Iterator[Document]:
    """Every layer in both forms, right and wrong. Raises ValueError for a mistake that is planted nowhere."""
    found = yaml.safe_load((FOLDER / "layers.yaml").read_text(encoding="utf-8"))
    for name, layer in found.items():
        head, code = section(name)
        for form in ("function", "pair"):
            stated = {**layer["case"], "implementations": {list(layer["case"]["graph"])[-1]: _named(name, layer, form)}}
            yield Document(f"{name}, {form}", {"name": f"{name} {form}", **stated}, head + code)
            for number, (old, new) in enumerate(layer[f"{form}_bugs"], 1):
                planted = _planted(code, old, new, form)
                full = f"{name}, {form}, mistake {number}"
                yield Document(full, {"name": full.replace(",", ""), **stated}, head + planted, f"{old} -> {new}")


def section(name: str) -> tuple[str, str]:
    """The imports, and the code of one layer."""
    for source in SOURCES:
        text = (FOLDER / f"{source}.py").read_text(encoding="utf-8")
        head, *parts = re.split(r"^# layer: (\w+)\n", text, flags=re.MULTILINE)
        if name in parts[::2]:
            return head, parts[parts.index(name) + 1]
    raise ValueError(f"there is no layer {name}")


def _named(name: str, layer: dict[str, Any], form: str) -> Any:
    own = {"arguments": layer["arguments"]} if "arguments" in layer else {}
    if form == "function":
        return {"call": f"code.py:{layer['function']}.apply", **own}
    return {"forward": f"code.py:{name}_forward", "backward": f"code.py:{name}_backward", **own}


def _planted(code: str, old: str, new: str, form: str) -> str:
    """The code with a mistake in its backward, in the class or behind it."""
    start = code.rindex("_backward(") if form == "pair" else code.index("def backward")
    place = code.find(old, start)
    if place < 0:
        raise ValueError(f"{old!r} stands nowhere")
    return code[:place] + new + code[place + len(old) :]


def ask(document: Document, folder: Path) -> CaseResult:
    """What gradcheck says of a document."""
    folder.mkdir()
    (folder / "code.py").write_text(document.code, encoding="utf-8")
    (folder / "case.yaml").write_text(json.dumps(document.case), encoding="utf-8")
    (found,) = run(folder / "case.yaml", allow_code=True).cases
    return found


def is_named(found: CaseResult) -> bool:
    """Whether the mistake has a name: that of a diagnosis, or what was observed of the code."""
    if any(one.kind not in ("", "unknown") for c in found.comparisons for one in c.diagnoses):
        return True
    told = {c.mismatch.kind for c in found.comparisons if c.status == "failed" and c.mismatch is not None}
    return bool(told - {"shapes_differ", "gradient_missing"}) or any(e.kind == "code_raised" for e in found.errors)


def rows() -> Iterator[Row]:
    """How many are told for what they are, and how many mistakes are named."""
    missed, flagged, unnamed = [], [], []
    wrong = right = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(documents()):
            found = ask(one, Path(folder) / str(number))
            right += not one.bug
            wrong += bool(one.bug)
            if one.bug and found.status != "failed":
                missed.append(f"{one.name}: `{one.bug}`")
            elif not one.bug and found.status != "passed":
                flagged.append(one.name)
            elif one.bug and not is_named(found):
                unnamed.append(f"{one.name}: `{one.bug}`")
    named = wrong - len(missed) - len(unnamed)
    yield Row("layers by hand: wrong ones missed", f"{len(missed)} of {wrong}", "0", not missed, "; ".join(missed))
    yield Row("layers by hand: right ones flagged", f"{len(flagged)} of {right}", "0", not flagged, "; ".join(flagged))
    enough = named >= NAMED * wrong
    yield Row("layers by hand: mistakes named", f"{named} of {wrong}", f"≥ {NAMED:.0%}", enough, "; ".join(unnamed))
