"""Splitting of text into sentences and tokens with their positions. Linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from umi._reading.grammar.lexicon import NAME_STOPS, words

# Candidates for the end of a sentence; `_is_end` decides. Possessive quantifiers (`++`, `*+`) prevent backtracking,
# which keeps matching linear.
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+(?=\s|$)|[。！？．｡；]++[」』”’）】]*+|\n++")
_ABBREVIATIONS: Final = words(
    "mr mrs ms dr prof st jr sr vs etc inc ltd co corp e.g i.e eg ie approx no nr fig al dept est mt ft sgt "
    "capt gen rev hon cf ca p.s a.k.a u.s u.k"
)
_MAY_END: Final = words("etc inc ltd co corp jr sr u.s u.k")  # of these, those that sentences end with, too
_NEXT_WORD: Final = re.compile(r"\s*([^\W\d_]+)")
_LAST_WORD: Final = re.compile(r"[^\s(\"“'‘]+$")
# A number with thousands separators, a word (with inner hyphens, dots, slashes; "C++", "C#"), or one sign.
_TOKEN: Final = re.compile(
    r"\d++(?:,\d{3})++(?:\.\d+)?[A-Za-z%]*|[^\W_]+(?:[.'’\-_@+/:][^\W_]+)*(?:\+\+|[#%])?|[$€£¥₹#]|[^\w\s]|_"
)
# Contracted endings: "n't", "'m", "'re", "'ve", "'ll", "'d", "'s".
_SUFFIX: Final = re.compile(r"(?<=.)(n['’]t|['’](?:m|re|ve|ll|d|s))$", re.IGNORECASE)
# Contractions that are often typed without their apostrophe.
_FUSED: Final = {
    "im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "cant": ("can", "n't"), "wont": ("will", "n't"),
    "doesnt": ("does", "n't"), "didnt": ("did", "n't"), "isnt": ("is", "n't"), "arent": ("are", "n't"), "wasnt": ("was", "n't"),
}  # fmt: skip
# The verb of "can't", "won't", "shan't", "ain't".
_BASES: Final = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_WORD_BACK: Final = 24  # characters before a full stop in which an abbreviation is looked for


class Tokens:
    """The tokens of a sentence, as parallel lists: as written, in lower case, start and end in the text.

    Contractions and possessives are split: "didn't" is "did", "n't".
    """

    __slots__ = ("end", "low", "start", "word")

    def __init__(self) -> None:
        self.word: list[str] = []
        self.low: list[str] = []
        self.start: list[int] = []
        self.end: list[int] = []

    def __len__(self) -> int:
        return len(self.word)

    def add(self, word: str, low: str, start: int, end: int) -> None:
        """Append one token."""
        self.word.append(word)
        self.low.append(low)
        self.start.append(start)
        self.end.append(end)

    def at(self, index: int) -> str:
        """The lower-case token at `index`, or "" outside the sentence."""
        return self.low[index] if 0 <= index < len(self.low) else ""

    def capital(self, index: int) -> bool:
        """Whether the token begins like a name.

        That is a capital, a letter of a script without cases, or a digit with capitals behind it ("3M").
        """
        if not 0 <= index < len(self.word):
            return False
        first, rest = self.word[index][:1], self.word[index][1:]
        if first.isdigit():
            return any(letter.isupper() for letter in rest)
        return first.isupper() or (first.isalpha() and not first.islower())


def tokenize(text: str, start: int, end: int) -> Tokens:
    """The tokens of `text[start:end]`; positions refer to `text`."""
    tokens = Tokens()
    for match in _TOKEN.finditer(text, start, end):
        word, begin, stop = match.group(), match.start(), match.end()
        low = word.lower().replace("’", "'")
        if low in _FUSED:
            first, second = _FUSED[low]
            tokens.add(word, first, begin, stop)
            # The second half has no text of its own, so that text cut out by token positions is as written.
            tokens.add("", second, stop, stop)
            continue
        suffix = _SUFFIX.search(low) if "'" in low else None
        if suffix is None:
            tokens.add(word, low, begin, stop)
            continue
        cut = suffix.start()
        tokens.add(word[:cut], _BASES.get(low[:cut], low[:cut]), begin, begin + cut)
        tokens.add(word[cut:], suffix.group(), begin + cut, stop)
    return tokens


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Whether a candidate ends a sentence: not after an abbreviation or initial, nor before a lower-case letter."""
    mark, after = match.group(), match.end()
    # A single line break within a sentence (wrapped text) is followed by a lower-case letter.
    if mark[0] == "\n":
        following = text[after : after + 1]
        return len(mark) > 1 or not following.islower()
    if mark[0] != "." or mark[:2] == "..":
        following = text[after : after + 2].lstrip()[:1]
        return not (mark[0] in ".…" and following.islower())
    following = text[after : after + 3].lstrip()[:1]
    if following.islower():
        return False
    before = _LAST_WORD.search(text, max(0, match.start() - _WORD_BACK), match.start())
    if before is None:
        return True
    word = before.group().lower()
    # A single letter is an initial ("J. Smith") unless the text ends here; "I" may end a sentence.
    if len(word) == 1 and word.isalpha() and word != "i":
        return not following
    if word in _MAY_END and (begins := _NEXT_WORD.match(text, after)):
        return begins.group(1).lower() in NAME_STOPS  # "Acme Inc. The office ...", and not "Acme Inc. Europe"
    return word not in _ABBREVIATIONS


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Half-open character ranges of the sentences, in order, without surrounding white space; they cover every word."""
    begin = 0
    for match in _END.finditer(text):
        if not _is_end(text, match):
            continue
        span = _strip(text, begin, match.end())
        begin = match.end()
        if span is not None:
            yield span
    span = _strip(text, begin, len(text))
    if span is not None:
        yield span


def _strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
