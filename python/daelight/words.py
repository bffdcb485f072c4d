"""What the words of the output mean."""

from __future__ import annotations

import html

from ._daelight import explanation


class Explanation(str):
    """A text that notebooks show as it is."""

    def _repr_html_(self) -> str:
        return f"<pre style='white-space:pre-wrap'>{html.escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return str(self)


def explain(word: str) -> Explanation:
    """The entry of the glossary for a term, the code of a message, or a kind of singular point.

    >>> import daelight
    >>> print(daelight.explain("1-full").splitlines()[0])
    1-full
    """
    found = explanation(word)
    if found is None:
        raise KeyError(f"`{word}` is not explained; docs/glossary.md lists the words")
    name, _, text = found
    return Explanation(f"{name}\n\n{text}")
