"""Home-made Tensor classes from public repositories, each with one flag: `python -m benchmarks.classes CHECKOUTS`.

CHECKOUTS holds a folder `owner+name` for each repository of `classes.txt` (or of another list, named after it); those
that are there are run on `classes.yaml`, each in a process of its own, and the table of docs/public-classes.md is
printed. What is listed as `package/NAME` is an installed package: `pip install --no-deps --target
CHECKOUTS/package+NAME NAME`. What is wrong is asked again without gradcheck, by `classes_by_hand`. Nothing of theirs is
shipped with gradcheck.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
#: Seconds a class.
LIMIT = 240
#: Verdicts by hand that hold in every way of asking.
EVERYWHERE = ("wrong", "raises", "wrong of another gradient")
#: Folders of a checkout from which its own scripts import.
SOURCES = ("", "src", "python", "hw1/python", "hw2/python", "hw2/hw2/python", "steps")


def judged(checkout: Path, spec: str) -> dict[str, Any]:
    """What becomes of the cases, and the kinds of mistakes that were named."""
    from benchmarks.classes_by_hand import as_steps, verdicts
    from gradcheck import run
    from gradcheck.engines.resolve import load_object, resolve_engine
    from gradcheck.language.loader import load_text

    os.chdir(checkout)
    sys.path += [str(checkout / folder) for folder in SOURCES if (checkout / folder).is_dir()]
    text = (HERE / "classes.yaml").read_text()
    cases, errors = load_text(text, "classes.yaml")
    assert not errors
    mine: Any = resolve_engine(spec)
    result = run(cases, engines=[mine], trials=1, timeout=20)
    failed = [case for case in result.cases if case.status in ("failed", "crashed")]
    kinds = Counter(kind for case in failed for kind in {d.kind for c in case.comparisons for d in c.diagnoses})
    documents = {document["name"]: as_steps(document) for document in yaml.safe_load_all(text)}
    kind = load_object(spec)
    told = {case.name: {c.mismatch.kind for c in case.comparisons if c.mismatch is not None} for case in failed}
    unnamed = [case for case in failed if not any(c.diagnoses for c in case.comparisons)]
    names = [case.name for case in failed]
    shared = sum("wrong_where_shared" in told[case.name] for case in unnamed)
    raising = len(unnamed) - shared
    return {
        "counts": [result.count("passed"), len(failed), result.count("unsupported")],
        "kinds": {
            **kinds,
            **({"raises": raising} if raising else {}),
            **({"wrong of one tensor twice": shared} if shared else {}),
        },
        "by hand": {name: answer for name, (answer, _) in verdicts(kind, documents, names, mine.api.is_scalar).items()},
    }


def in_its_own_process(checkout: Path, spec: str) -> dict[str, Any]:
    """The same, or why nothing came of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            found = judged(checkout, spec)
        except BaseException as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w") as file:
            json.dump(found, file)
        os._exit(0)
    os.close(writer)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(LIMIT)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    signal.alarm(0)
    return json.loads(text) if text else {"error": f"no answer within {LIMIT} s"}


def row(name: str, spec: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    if "error" in found:
        return f"| {name} | `{spec}` | not loaded: {found['error'][:60]} | | |"
    told = ", ".join(f"{kind.replace('_', ' ')} ({count})" for kind, count in sorted(found["kinds"].items()))
    answers = found["by hand"]
    others = ", ".join(f"{case} ({answer})" for case, answer in answers.items() if answer not in EVERYWHERE)
    again = sum(answer in EVERYWHERE for answer in answers.values())
    by_hand = f"{again} of {len(answers)}" + (f", {others}" if others else "") if answers else ""
    return f"| {name} | `{spec}` | {' / '.join(map(str, found['counts']))} | {by_hand} | {told} |"


def main(checkouts: Path, listed: Path = HERE / "classes.txt") -> None:
    """The table, and in how many classes each kind of mistake was named."""
    print("| repository | class | right / wrong / cannot express | wrong by hand, too | found, in how many cases |")
    print("|---|---|---|---|---|")
    entries = [line.split(maxsplit=1) for line in listed.read_text().splitlines() if line.strip()]
    understood, total, named, by_hand = 0, 0, Counter[str](), Counter[str]()
    for folder, spec in entries:
        checkout = checkouts / folder.replace("/", "+")
        if not checkout.is_dir():
            continue
        found = in_its_own_process(checkout.resolve(), spec.strip())
        print(row(folder, spec.strip(), found), flush=True)
        total += 1
        understood += found.get("counts", [0])[0] > 0
        named.update(found.get("kinds", {}).keys())
        by_hand.update(found.get("by hand", {}).values())
    print(f"\n{understood} of {total} are understood. Classes in which each was found:", end=" ")
    print(", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in named.most_common()))
    print("\nWhat is wrong, by hand:", ", ".join(f"{answer} {count}" for answer, count in by_hand.most_common()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
