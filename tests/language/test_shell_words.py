"""Words for a shell: one word each in every shell, whatever a stranger has called a file."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from gradcheck.language.shell_words import quoted, shell_word
from gradcheck.language.suggest import did_you_mean


@pytest.mark.parametrize("shell", ["bash", "dash", "fish", "zsh"])
def test_a_quoted_word_is_one_word_of_each_shell(shell: str) -> None:
    """Somebody pastes the command that reproduces a case, whose name may be a stranger's."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    for word in ("\\'\"; echo ran #", "\\'; echo ran; '", "a\\", "\\\\'", "$(echo ran) `echo ran` it's ‘so’", ""):
        done = subprocess.run([program, "-c", f"printf %s {quoted(word)}"], capture_output=True, text=True, check=True)
        assert done.stdout == word


def test_a_quoted_word_has_no_quotation_mark_of_print_in_single_quotes() -> None:
    """PowerShell ends a text in single quotes at each of them."""
    for mark in "\u2018\u2019\u201a\u201b":
        assert quoted(f"a{mark}; echo ran") == f"""'a'"{mark}"'; echo ran'"""


@pytest.mark.parametrize("name", ["a b.yaml::it's; & | < > ^ ( ) # so", "C:\\cases\\a.yaml::ü ‘x’", "", "a\\b"])
def test_a_word_of_windows_is_in_double_quotes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    assert quoted(name) == f'"{name}"'
    assert subprocess.list2cmdline([name, "b"]) in (f'"{name}" b', f"{name} b")  # as the C library reads it


@pytest.mark.parametrize("name", ['a"b', "50%", "wow!", "$(x)", "$x", "`x", "“x”", "a\nb", "ends in \\"])
def test_a_word_that_a_shell_of_windows_would_change_is_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    assert quoted(name) == '"(left out: cmd.exe or PowerShell would change it)"' == shell_word(name)


def test_a_word_has_quotes_if_it_needs_them() -> None:
    assert [shell_word(word) for word in ("a/b-1.py:T", "a b", "50%", "a,b", "é", "")] == [
        *("a/b-1.py:T", "'a b'", "'50%'", "'a,b'", "'é'", "''")
    ]


def test_a_name_that_is_suggested_is_one_word() -> None:
    assert did_you_mean("keepdims", ["keepdim"]) == "did you mean 'keepdim'?"
    name = "a'b.yaml"
    assert did_you_mean("a'b.yam", [name]) == f"did you mean {quoted(name)}?"
