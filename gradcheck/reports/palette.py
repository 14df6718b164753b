"""The colours of reports: of terminals, of pages and of pictures."""

from __future__ import annotations

#: Styles of rich, for terminals, one for each role, in red, green and magenta: others are lost on some backgrounds.
FAILURE, SUCCESS, NOTICE = "bold red", "green", "magenta"
SUGGESTION, COUNTEREXAMPLE, PLACE = "bold green", "bold magenta", "bold"

#: Colours of pages and pictures by name, on a light and on a dark background. CSS has them as `var(--bad)`.
COLOURS = {
    "paper": ("#ffffff", "#12171c"),
    "raised": ("#f5f7f9", "#1c2329"),
    "ink": ("#17202a", "#e6ebef"),
    "soft": ("#4d5863", "#a9b5bf"),
    "line": ("#d3dae0", "#36414b"),
    "edge": ("#5b6670", "#98a4af"),
    "accent": ("#0b5a9c", "#7cbcf0"),
    "good": ("#1a66a6", "#7cbcf0"),
    "good-soft": ("#e3effa", "#16304a"),
    "bad": ("#a83a0a", "#ffa274"),
    "bad-soft": ("#fce9df", "#43200f"),
    "worst": ("#7a2a00", "#ff7f45"),
    "doubt": ("#63429a", "#c3abf0"),
    "doubt-soft": ("#efe9f8", "#31264a"),
    "warn": ("#7d5200", "#ecc06a"),
    "warn-soft": ("#fdf3dc", "#3a2d10"),
    "gradient": ("#6d42aa", "#b99df0"),
    "none": ("#9aa5ae", "#6b7781"),
}
#: The colour of each verdict on a node of a graph.
VERDICT_COLOURS = {
    **dict.fromkeys(("failed", "faulty"), "bad"),
    "follows": "warn",
    "undecided": "doubt",
    "passed": "good",
    "unknown": "edge",
}
#: Levels of a heat map: equal, two within what is allowed, five beyond it; then NaN and infinities that differ.
HEAT = (
    *("#eaf0f6", "#c6dbef", "#85b7de", "#fee08b", "#fdae42", "#ec7a1c", "#b84808", "#6b1f04"),
    *("#6a3d9a", "#141414"),
)


def light(name: str) -> str:
    """Return a colour on a light background."""
    return COLOURS[name][0]


def css_colours(scope: str) -> str:
    """Return rules that define every colour for elements of a class."""
    day, night = (" ".join(f"--{name}: {pair[at]};" for name, pair in COLOURS.items()) for at in (0, 1))
    heat = "".join(f".{scope} .h{level} {{ fill: {colour}; }}\n" for level, colour in enumerate(HEAT))
    return f".{scope} {{ {day} }}\n@media (prefers-color-scheme: dark) {{ .{scope} {{ {night} }} }}\n{heat}"
