"""Cases of deletions where words of what goes also stand in metadata: which messages must be left, with which metadata, and which words nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.terms import terms_of

# Words that nothing else says, none of which is a part of another.
_WORDS: Final = (
    "quilmar", "brontel", "vandrix", "sorplu", "melwick", "tarnob", "drisken", "glaspen", "hobrit", "jelvan", "kormund", "liptoz", "fennuck", "yarwip",
)  # fmt: skip
_TEXTS: Final = (
    "{w}", "{w}", "see\n{w}", "see\t{w}", "of {w}, as noted", '"{w}"', "x-{w}", "a/{w}/b", "{w}'s", "see \u2014{w}", "\\{w}", "n\u00e9e {w}",
)  # fmt: skip
_HOWS: Final = ("first", "first", "second", "second", "message", "session", "where", "none")
_MESSAGES: Final = 3


def forgotten(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Messages with two statements each, and what is deleted of each: a statement, all of it, or nothing.

    Each has `content`, `metadata`, `session` and `how`, and as `left` what must be there afterwards: its words and its metadata.
    """
    words = list(rng.shuffled(_WORDS))
    found = []
    for place in range(_MESSAGES):
        first, second = words[2 * place : 2 * place + 2]
        how = rng.choice(_HOWS)
        sentences = (f"Nora lives in {first.title()}.", f"Otto works at {second.title()}.")
        # Mostly a word that is deleted here; at times one of another message, whose deletion is no concern of this one.
        mine = second if how == "second" else first
        told = rng.choice((mine, mine, mine, first, second, words[rng.next_int(0, 2 * _MESSAGES - 1)], words[-1]))
        metadata = _shape(rng, told)
        session = f"talk{place}"
        content = " ".join(sentences)
        left: tuple[str, dict[str, Any]] | None = (content, metadata)
        if how in ("first", "second"):
            gone = sentences[how == "second"]
            left = (content.replace(gone, " " * len(gone)).rstrip(), {} if _shares(metadata, gone) else metadata)
        elif how != "none":
            left = None
        found.append({"content": content, "metadata": metadata, "session": session, "how": how, "left": left})
    return found


def of_subject(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Messages about Nora, about others, and about others with her name in the metadata, with what an erasure of her must leave of each."""
    words = [word.title() for word in rng.shuffled(_WORDS)]
    alike, named, other = (
        _shape(rng, words[0].lower()),
        _shape(rng, rng.choice(("nora", "Nora", "NORA"))),
        f"Otto works at {words[1]}.",
    )
    both, hers = f"Nora lives in {words[2]}. Otto works at {words[3]}.", f"Nora lives in {words[0]}."
    found: list[dict[str, Any]] = [
        {"content": hers, "metadata": rng.choice(({}, named, alike)), "left": None},
        {"content": other, "metadata": named, "left": (other, {})},
        {"content": f"Otto works at {words[4]}.", "metadata": alike, "left": (f"Otto works at {words[4]}.", alike)},
        {
            "content": both,
            "metadata": rng.choice((named, alike, {})),
            "left": (f"{' ' * (both.index('.') + 1)}{both[both.index('.') + 1 :]}", {}),
        },
        {"content": f"I like {words[5].lower()}.", "speaker": "Nora", "metadata": alike, "left": None},
        {
            "content": f"Otto works at {words[6]}.",
            "session": "of Nora",
            "metadata": alike,
            "left": (f"Otto works at {words[6]}.", {}),
        },
    ]
    return list(rng.shuffled(found))


def all_words(value: Any) -> Iterator[str]:
    """Every key, text and number of a JSON value, as it is."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from all_words(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from all_words(each)
    elif not isinstance(value, bool) and value is not None:
        yield str(value)


def gone_words(cases: list[dict[str, Any]]) -> list[str]:
    """The words that were said and must be nowhere."""
    before = {
        term for one in cases for text in (one["content"], *all_words(one["metadata"])) for term in terms_of(text)
    }
    left = [one["left"] for one in cases if one["left"] is not None]
    kept = {term for content, metadata in left for text in (content, *all_words(metadata)) for term in terms_of(text)}
    return sorted(word for word in (*_WORDS, "nora") if terms_of(word)[0] in before - kept)


def _shares(metadata: dict[str, Any], gone: str) -> bool:
    """Whether metadata has a word of a text."""
    return bool(set(terms_of(gone)) & {term for text in all_words(metadata) for term in terms_of(text)})


def _shape(rng: DeterministicRng, word: str) -> dict[str, Any]:
    """Metadata with a word as a key or a value, at any depth."""
    text = rng.choice(_TEXTS).format(w=rng.choice((word, word, word.title(), word.upper())))
    shapes: tuple[dict[str, Any], ...] = (
        {"note": text}, {text: 1}, {"level": 2, "tags": ["a", text]}, {"note": [1, {"deep": {"er": [None, text]}}]}, {"note": {"deep": {text: True}}},
        {"note": "plain", "level": 2.5, text: {"deep": []}},
    )  # fmt: skip
    return rng.choice(shapes)
