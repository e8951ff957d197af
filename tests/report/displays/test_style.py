"""What the displays share: axes, line styles, legends and short names."""

from __future__ import annotations

import matplotlib.pyplot as plt

from thrifty.report.displays.style import add_legend, line_style, prepare_axes, shorten


def test_given_axes_are_kept_and_new_ones_have_the_size(ax) -> None:
    assert prepare_axes(ax) is ax
    assert plt.get_fignums() == []
    assert not ax.spines["top"].get_visible() and ax.spines["left"].get_visible()
    new = prepare_axes(size=(3.0, 2.0))
    assert new.figure.get_size_inches().tolist() == [3.0, 2.0]


def test_the_first_lines_differ_in_color_style_and_marker() -> None:
    styles = [line_style(i) for i in range(6)]
    for what in ("color", "linestyle", "marker"):
        assert len({str(style[what]) for style in styles}) == 6
    assert line_style(6)["color"] == line_style(0)["color"]


def test_a_dollar_in_a_legend_is_not_a_formula(ax) -> None:
    ax.plot([0, 1], label="$US$")
    add_legend(ax)
    (text,) = ax.get_legend().get_texts()
    assert text.get_text() == "$US$" and not text.get_parse_math()


def test_only_long_names_are_shortened() -> None:
    assert shorten("age", 3) == "age"
    assert shorten("cholesterol", 5) == "ch\u2026ol"
    assert shorten("feature_of_the_group_17", 10) != shorten("feature_of_the_group_18", 10)


def test_displays_do_not_import_matplotlib_before_they_draw(modules_after) -> None:
    loaded = modules_after("-c", "import thrifty.report.displays")
    assert not {name for name in loaded if name.split(".")[0] == "matplotlib"}
