"""Selection of cases: by paths, `FILE::NAME`, keywords and tags."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from gradcheck.cli.group import NothingToDo, code_of
from gradcheck.cli.options import DEFAULT_PATHS
from gradcheck.cli.output import write_stderr
from gradcheck.cli.write_files import resolve_links
from gradcheck.errors import InvalidCase, UsageError
from gradcheck.language.case import Case, Loaded
from gradcheck.language.loader import load
from gradcheck.language.loader.case_files import split_id
from gradcheck.language.shell_words import quoted
from gradcheck.language.suggest import did_you_mean

_TOKEN = r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<mark>[()])|(?P<word>[^\s()'"]+))"""
_BINDING = {"or": 1, "and": 2, "not": 3}
_HINT = "write words with 'and', 'or', 'not' and brackets, and quote words that contain blanks"


def select(paths: Sequence[str], keyword: str | None = None, tags: Sequence[str] = ()) -> Loaded:
    """Read the paths and select cases. Raises NothingToDo for none."""
    matches = compile_keywords(keyword) if keyword is not None else None
    targets = [split_id(path) for path in paths or default_paths()]
    cases, errors = _select_named(targets, load(list(dict.fromkeys(file for file, _ in targets))))
    kept = tuple(
        case
        for case in cases
        if (matches is None or matches(f"{os.path.splitext(case.place.file)[0]}::{case.name}"))
        and (not tags or not set(tags).isdisjoint(case.tags))
    )
    if not kept and not errors:
        raise _nothing_selected(paths, cases)
    return Loaded(kept, errors)


def print_errors(errors: Sequence[InvalidCase]) -> int:
    """Print the errors, a line each; return the exit code."""
    write_stderr(*map(str, errors))
    return code_of(errors)


def select_one(path: str) -> Case:
    """Return the one case of a path. Raises UsageError for several."""
    found = select([path])
    if len(found.cases) == 1 and not found.errors:
        return found.cases[0]
    if found.errors:
        raise found.errors[0]
    names = ", ".join(quoted(case.id) for case in found.cases[:3]) + (", …" if len(found.cases) > 3 else "")
    raise UsageError(f"{path} holds {len(found.cases)} cases, and this is about one", hint=f"name it: {names}")


def default_paths() -> tuple[str, ...]:
    """Return the default paths. Raises NothingToDo if they do not exist."""
    if not os.path.exists(DEFAULT_PATHS[0]):
        hint = "gradcheck init writes a first one; or name a file or a folder, here or as paths in pyproject.toml"
        raise NothingToDo("no case was found: there is no folder 'cases' here", hint=hint)
    return DEFAULT_PATHS


def _select_named(targets: list[tuple[str, str | None]], loaded: Loaded) -> Loaded:
    """Return what the targets name, without errors beside a valid named case."""
    cases, errors = loaded
    names = {(_key(file), name) for file, name in targets if name is not None}
    if not names:
        return loaded
    whole = {path for file, name in targets if name is None for path in (resolve_links(file), Path(_key(file)))}
    by_file: dict[str, list[str]] = {}
    for case in cases:
        by_file.setdefault(_key(case.place.file), []).append(case.name)
    lacking = {(file, name) for file, name in names if name not in by_file.get(file, ())}
    broken = {_key(error.place.file) for error in errors}
    for file, name in sorted(lacking):
        if file not in broken:
            raise _no_such_case(file, name, by_file.get(file, []))

    def below(file: str) -> bool:
        path = Path(file)
        return not whole.isdisjoint((path, *path.parents))

    kept = tuple(c for c in cases if (_key(c.place.file), c.name) in names or below(_key(c.place.file)))
    files = {file for file, _ in lacking}
    return Loaded(kept, tuple(e for e in errors if _key(e.place.file) in files or below(_key(e.place.file))))


def _key(file: str) -> str:
    """Return the file's name in its real folder; the file may be a link."""
    folder, name = os.path.split(file)
    return os.path.join(resolve_links(folder), name)


def _no_such_case(file: str, name: str, known: list[str]) -> NothingToDo:
    shown = ", ".join(map(quoted, known[:5])) + (", …" if len(known) > 5 else "")
    hint = did_you_mean(name, known, f"it has {shown}" if known else "")
    return NothingToDo(f"no case is named '{name}' in {Path(file).name}", hint=hint)


def _nothing_selected(paths: Sequence[str], found: Sequence[Case]) -> NothingToDo:
    where = ", ".join(paths or DEFAULT_PATHS)
    if not found:
        return NothingToDo(f"no case was found in {where}", hint="a case file ends in .yaml or .yml")
    hint = "gradcheck list shows their ids"
    known = sorted({tag for case in found for tag in case.tags})
    if known:
        hint += f"; their tags are {', '.join(known[:20])}"
    return NothingToDo(f"none of {len(found)} cases in {where} is selected", hint=hint)


def compile_keywords(expression: str) -> Callable[[str], bool]:
    """Return a predicate on ids for words with `and`, `or`, `not`, brackets.

    As in pytest, upper and lower case are equal. Parsed into postfix order by the shunting-yard algorithm (Dijkstra,
    1961), so nothing recurses and nothing is evaluated by Python.
    """
    postfix = _postfix(_tokens(expression), expression)

    def matches(id: str) -> bool:
        folded = id.casefold()
        stack: list[bool] = []
        for kind, text in postfix:
            if kind == "word":
                stack.append(text in folded)
            elif text == "not":
                stack.append(not stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((left and right) if text == "and" else (left or right))
        return stack.pop()

    return matches


def _tokens(expression: str) -> list[tuple[str, str]]:
    """Return pairs of a kind ("word", "operator" or a bracket) and the text."""
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(expression.rstrip())
    while position < end:
        match = re.compile(_TOKEN).match(expression, position)
        if match is None:
            raise _error(expression, "a quotation mark is not closed")
        position = match.end()
        word = match["word"]
        if match["text"]:
            tokens.append(("word", match["text"][1:-1].casefold()))
        elif match["mark"]:
            tokens.append((match["mark"], match["mark"]))
        else:
            tokens.append(("operator" if word in _BINDING else "word", word if word in _BINDING else word.casefold()))
    return tokens


def _postfix(tokens: list[tuple[str, str]], expression: str) -> list[tuple[str, str]]:
    output: list[tuple[str, str]] = []
    waiting: list[tuple[str, str]] = []
    operand_next = True
    for kind, text in tokens:
        starts_operand = kind in ("word", "(") or text == "not"
        if operand_next != starts_operand or (kind == ")" and operand_next):
            raise _error(expression, _expected(text, operand_next))
        if kind == "word":
            output.append((kind, text))
        elif kind == ")":
            while waiting and waiting[-1][0] != "(":
                output.append(waiting.pop())
            if not waiting:
                raise _error(expression, "a ')' has no '('")
            waiting.pop()
        else:
            if kind == "operator" and text != "not":
                while waiting and _BINDING.get(waiting[-1][1], 0) >= _BINDING[text] and waiting[-1][0] != "(":
                    output.append(waiting.pop())
            waiting.append((kind, text))
        operand_next = kind in ("operator", "(")
    if operand_next:
        raise _error(expression, "it ends where a word is expected" if tokens else "it is empty")
    if any(kind == "(" for kind, _ in waiting):
        raise _error(expression, "a '(' has no ')'")
    return [*output, *reversed(waiting)]


def _expected(found: str, operand: bool) -> str:
    wanted = "a word" if operand else "'and' or 'or'"
    return f"'{found}' stands where {wanted} is expected"


def _error(expression: str, reason: str) -> UsageError:
    return UsageError(f"cannot understand -k {expression!r}: {reason}", hint=_HINT)
