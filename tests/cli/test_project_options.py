"""What a project has configured, as options."""

from __future__ import annotations

from pathlib import Path

from gradcheck.cli.project_options import project_options


def test_what_is_found_is_configured_and_how_a_run_goes_is_not(folder: Path) -> None:
    (folder / "known.json").write_text('{"gradcheck-baseline": 1, "failures": []}')
    (folder / "gradcheck.toml").write_text(
        "jobs = 4\nmaxfail = 1\nengine = 'hips'\nrtol = 0.5\nbaseline = 'known.json'\nkeyword = 'a'\n"
        "[[overrides]]\npaths = ['a*']\nrtol = 0.1\nseed = 2\n"
    )
    found = project_options(rtol=0.25)
    assert (found.jobs, found.maxfail, found.engines, found.rtol) == (1, None, ("hips",), 0.25)
    assert found.baseline is not None
    assert found.overrides[0].choices == {"seed": 2}
