"""What notebooks show, and the notebooks themselves."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbclient
import nbformat
import pytest

import daelight

NOTEBOOKS = ["plotter", "linkage", "robotic-arm", "squeezer", "flexible-manipulator", "hoist"]
# More characters than a page can show without scrolling for long, outside pictures and what is folded.
MOST_SHOWN = 1500


class Balance(HTMLParser):
    """Whether every element is closed."""

    void = {"br", "img", "meta", "hr"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(markup: str) -> None:
    balance = Balance()
    balance.feed(markup)
    assert not balance.open
    # Names of XML formats are addresses that nothing is fetched from.
    addresses = [found for found in re.findall(r"https?://[^\"' ]+", markup) if "www.w3.org" not in found]
    assert not addresses


def shown(markup: str) -> str:
    """What a notebook shows before anything is opened, without pictures."""
    closed = re.sub(r"<details>.*?</details>", "", markup, flags=re.DOTALL)
    return re.sub(r"<svg.*?</svg>|<[^>]*>", "", closed, flags=re.DOTALL)


def test_html() -> None:
    arm = daelight.example("robotic-arm")
    run = arm.solve()
    configurations = daelight.example("four-bar").singular(parameters="all")
    for thing in (arm, arm.analyze(), arm.init(), run, run.singularities[0], run.report, arm.check(), configurations):
        check(thing._repr_html_())
        assert len(shown(thing._repr_html_())) < MOST_SHOWN
    for name in daelight.examples():
        assert len(shown(daelight.example(name)._repr_html_())) < MOST_SHOWN, name
    assert "<math" in arm._repr_html_() and "<svg" in run._repr_html_()
    assert "5-A" in run.singularities[0]._repr_html_()
    check(daelight.example("pendulum").sweep({"L": [1.0, 2.0]}, ["status"], t_span=(0, 0.1))._repr_html_())


def test_pictures(tmp_path: Path) -> None:
    run = daelight.example("robotic-arm").solve()
    figure = run.plot("x1", "x3")
    ElementTree.fromstring(figure._repr_svg_())
    figure.save(tmp_path / "arm.svg")
    assert (tmp_path / "arm.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError, match="SVG"):
        figure.save(tmp_path / "arm.jpeg")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        figure.save(tmp_path / "nowhere" / "arm.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["arm.svg"]
    with pytest.raises(KeyError):
        run.plot("x9")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run(name: str, root: Path) -> None:
    path = root / "docs/notebooks" / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    for kept, made in zip(stored.cells, notebook.cells):
        assert facts(kept) == facts(made), kept.source
        for output in made.get("outputs", []):
            page = output.get("data", {}).get("text/html", "")
            assert len(shown(page)) < MOST_SHOWN, kept.source


def facts(cell: nbformat.NotebookNode) -> list[tuple[str, str]]:
    """The output of a cell, numbers to six digits: pictures differ in the last ones from machine to machine."""
    found = []
    # What a cell prints may arrive in several pieces.
    outputs = cell.get("outputs", [])
    printed = "".join(output["text"] for output in outputs if "text" in output)
    pieces = [{"text": printed}] if printed else []
    pieces += [dict(output.get("data", {})) for output in outputs if "text" not in output]
    for parts in pieces:
        for kind, text in sorted(parts.items()):
            if kind in ("text", "text/plain", "text/html"):
                found.append((kind, re.sub(r"-?\d+\.\d+(?:e[-+]?\d+)?", lambda n: f"{float(n[0]):.5e}", str(text))))
    return found
