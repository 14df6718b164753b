"""`gradcheck config`: every setting, and where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.config import option_keys
from tests.cli.test_config import OVERRIDES


def test_every_setting_is_there_and_where_it_is_set(
    folder: Path, gradcheck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text(OVERRIDES.replace("wrong.yaml", "w*.yaml"))
    monkeypatch.setenv("GRADCHECK_ENGINE", "core,hips")
    outcome = gradcheck("config")
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in outcome.out.splitlines() if line.strip()}
    assert {"paths", *option_keys()} <= rows.keys()
    assert rows["engine"].split() == ["core,hips", "GRADCHECK_ENGINE"]
    assert rows["trials"].split() == ["1", "pyproject.toml:2:1"]
    assert rows["jobs"].split() == ["1", "default"]
    assert "for cases/g*.yaml, else*" in outcome.out.splitlines()


def test_a_mistake_is_told(folder: Path, gradcheck: Any) -> None:
    (folder / "gradcheck.toml").write_text("job = 2\n")
    outcome = gradcheck("config")
    assert (outcome.code, outcome.err) == (
        2,
        "gradcheck: gradcheck.toml:1:1: unknown key 'job' in gradcheck.toml; did you mean 'jobs'?\n",
    )
