"""`gradcheck schema`: JSON alone."""

from __future__ import annotations

import json
from typing import Any


def test_schema_is_json_alone(gradcheck: Any) -> None:
    outcome = gradcheck("schema")
    assert json.loads(outcome.out)["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert outcome.err == ""
