"""Texts to terms: what the text leg indexes and what a query asks for. One analysis serves both.

Unicode NFKC, case folded; Latin accents folded; possessives and contractions cut; English stop words dropped; English
words stemmed (Snowball). Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese write words without reliable spaces:
runs of them become overlapping pairs of characters, plus the single ideographs and Hangul syllables, so that a word or a name
inside a sentence is found. An emoji is a term.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer

from umi.limits import STEM_CACHE_WORDS_COUNT_MAX, TERM_CHARS_MAX

# Function words that carry no topic. Left out on purpose, though usual in such lists: "will" and "may" (names, a month) and "us"
# (a country): their weight is small anyway where they are common.
STOP_WORDS: Final = frozenset(
    # One string, for the reader's sake.
    """
    a about above after again against all also am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don done down during each else few for from further get got had has have having
    he her here hers herself him himself his how i if in into is it its itself just let like ll me more most mustn my
    myself need no nor not now of off on once only or other our ours ourselves out over own please re same shall she should
    so some such tell than that the their theirs them themselves then there these they this those through to too under
    until up ve very was we were what when where which while who whom whose why with would you your yours yourself
    yourselves
    """.split()  # noqa: SIM905
)
# Contracted negations as they stand once the apostrophe's tail is cut: "didn't" -> "didn".
_CONTRACTED: Final = frozenset(
    "aren can couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn ain y".split()  # noqa: SIM905
)
_CONTRACTION_TAILS: Final = frozenset(["s", "t", "d", "m", "re", "ve", "ll", "em", "all"])
# Particles and endings of Japanese and Korean: alone they say nothing.
_CJK_STOP: Final = frozenset(
    """
    です ます した して いる ない から ので こと する れる てい でい まし いま った ってい たい んで ある という
    은 는 이 가 을 를 에 의 도 로 와 과 다 요 니 고 서 습니 니다 어요 아요 에서 입니
    """.split()  # noqa: SIM905
)

_MARK_RANGES: Final = ((0x300, 0x1D00), (0x20D0, 0x2100), (0xA800, 0xAC00))


def _marks() -> str:
    """Combining marks as a character class: the class of word characters lacks them, and would cut Hindi and Thai words at every vowel sign."""
    points = [p for low, high in _MARK_RANGES for p in range(low, high) if unicodedata.category(chr(p)).startswith("M")]
    return "".join(re.escape(chr(point)) for point in points)


_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_HANGUL: Final = "\uac00-\ud7a3\u1100-\u11ff"
_KANA: Final = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
_SOUTH_EAST: Final = "\u0e01-\u0e4f\u0e81-\u0edf\u1000-\u109f\u1780-\u17dd"
_UNSPACED: Final = _HAN + _HANGUL + _KANA + _SOUTH_EAST
_EMOJI: Final = "\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b"
_WORD: Final = rf"(?:(?![{_UNSPACED}])[^\W_])(?:(?![{_UNSPACED}])[^\W_]|[{_marks()}])*"
_TOKEN: Final = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    r"|(?P<number>\d+(?:[.,]\d+)+(?![^\W_]))"
    rf"|(?P<word>{_WORD}(?:['\u2019]{_WORD})*)"
    rf"|(?P<emoji>[{_EMOJI}])"
)
_UNSPACED_ONE: Final = re.compile(rf"[{_UNSPACED}]")
_SINGLE: Final = re.compile(rf"[{_HAN}{_HANGUL}]")
_SPACED_WORD: Final = re.compile(r"\S+")

_stemmer: Final = EnglishStemmer()
_stemmer_lock: Final = threading.Lock()  # the stemmer keeps its word in itself


def analyse(text: str) -> list[str]:
    """The terms of a text in order, repeats kept.

    Args:
        text: Any valid Unicode.

    Returns:
        Terms of at most `TERM_CHARS_MAX` characters; empty when nothing but stop words and signs is there.
    """
    terms: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = match.group()
        kind = match.lastgroup
        if kind == "word":
            terms.extend(_word_terms(token))
        elif kind == "unspaced":
            terms.extend(_unspaced_terms(token))
        elif kind == "number":
            terms.append(token.replace(",", "")[:TERM_CHARS_MAX])
        else:
            terms.append(token)
    return terms


def query_terms(query: str) -> list[str]:
    """The different terms of a query, in order of first use."""
    return list(dict.fromkeys(analyse(query)))


def indexed_line(content: str, speaker: str | None) -> str:
    """What is analysed and embedded for a message: "speaker: text", so that a question may name who said it."""
    return f"{speaker}: {content}" if speaker else content


def has_spaces(character: str) -> bool:
    """Whether a character is of a script that writes words apart."""
    return not _UNSPACED_ONE.match(character)


def forget_words() -> None:
    """Let go of the words whose stems are remembered."""
    _stem.cache_clear()


def count_words(text: str) -> int:
    """Words of a line before stop words go, at least 1; in unspaced scripts two characters count as one word."""
    spaced = sum(1 for _ in _SPACED_WORD.finditer(text))
    unspaced = sum(len(match.group()) for match in _TOKEN.finditer(text) if match.lastgroup == "unspaced")
    return max(1, spaced + unspaced // 2)


def _word_terms(token: str) -> tuple[str, ...]:
    """Terms of one spaced word: "alice's" -> alic; "o'neil" -> oneil, neil; "didn't" -> nothing."""
    if "'" not in token and "\u2019" not in token:
        return _stem(token)
    parts = token.replace("\u2019", "'").split("'")
    if parts[-1] in _CONTRACTION_TAILS:
        parts.pop()
        if len(parts) == 1:
            return () if parts[0] in _CONTRACTED else _stem(parts[0])
    joined = _stem("".join(parts))
    return joined + tuple(term for part in parts if len(part) > 2 for term in _stem(part))


def _unspaced_terms(run: str) -> list[str]:
    """Pairs of neighbours, and single ideographs and syllables, in order of place."""
    if len(run) == 1:
        return [run]
    terms = []
    for place, character in enumerate(run):
        if _SINGLE.match(character) and character not in _CJK_STOP:
            terms.append(character)
        pair = run[place : place + 2]
        if len(pair) == 2 and pair not in _CJK_STOP:
            terms.append(pair)
    return terms


@lru_cache(maxsize=STEM_CACHE_WORDS_COUNT_MAX)
def _stem(word: str) -> tuple[str, ...]:
    """The stem of one folded word, or nothing for a stop word. Memoised: the stemmer costs 20 microseconds a word."""
    if not word.isascii():
        bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        word = bare if bare.isascii() else word
    if word in STOP_WORDS or not word:
        return ()
    if word.isascii() and word.isalpha() and len(word) <= TERM_CHARS_MAX:
        with _stemmer_lock:
            return (_stemmer.stemWord(word),)
    return (word[:TERM_CHARS_MAX],)
