"""`gradcheck ops`: the table, and all about one op; `gradcheck schema`: JSON alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradcheck.cli.config import option_keys
from tests.cli.test_config import OVERRIDES


def test_ops_lists_every_op_once(gradcheck: Any) -> None:
    from gradcheck.autograd.op import TABLE

    header, *lines = gradcheck("ops").out.splitlines()
    assert header.split() == ["SIGNATURE", "RULE", "ORACLES", "KINKS", "TORCH", "ALIASES", "DOMAIN", "DOC"]
    assert [line.split("(")[0] for line in lines] == sorted(TABLE)


def test_ops_of_a_name_tells_all_about_it(gradcheck: Any) -> None:
    for name in ("tanh", "torch.tanh", "F.tanh"):
        text = gradcheck("ops", name).out
        assert text.startswith("tanh(input)\n")
        assert "gradient rule: yes" in text
        assert "oracles:       exact, complex step, forward, order 2" in text
        assert "torch:         torch.tanh" in text
        assert '  tanh = _smooth("tanh", ' in text


def test_ops_of_a_family_lists_it(gradcheck: Any) -> None:
    for name in ("matrix-products", "matrix_products"):
        lines = gradcheck("ops", name).out.splitlines()
        assert {"matmul", "mm", "bmm"} <= {line.split("(")[0] for line in lines[1:]}


def test_schema_is_json_alone(gradcheck: Any) -> None:
    outcome = gradcheck("schema")
    assert json.loads(outcome.out)["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert outcome.err == ""


def test_ops_of_a_part_of_a_name_lists_those_that_have_it(gradcheck: Any) -> None:
    lines = gradcheck("ops", "soft").out.splitlines()
    names = [line.split("(")[0] for line in lines[1:]]
    assert {"softmax", "softplus", "log_softmax"} <= set(names)
    assert all("soft" in name for name in names)
    outcome = gradcheck("ops", "sofmax")
    assert (outcome.code, outcome.err) == (2, "gradcheck: there is no op 'sofmax'; did you mean 'softmax'?\n")


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
