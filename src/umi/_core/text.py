"""Tokenisation: from a text to terms. The text index and the queries use the same analysis.

Text is normalised (Unicode NFKC), case-folded and stripped of Latin accents; possessives and contractions are cut;
English stop words are dropped and English words stemmed (Snowball). Chinese, Japanese, Korean, Thai, Lao, Khmer and
Burmese put no reliable spaces between words: a run of such characters becomes overlapping character pairs, plus single
ideographs and Hangul syllables, so that a word or a name inside a sentence is found. Each emoji is a term.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer

from umi.limits import STEM_CACHE_WORDS_COUNT_MAX, TERM_CHARS_MAX

# English function words. "will", "may" (names, a month) and "us" (a country) are left out although such lists usually
# have them: where they are common, their BM25 weight is small anyway.
STOP_WORDS: Final = frozenset(
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
# What remains of contracted negations when the part after the apostrophe is cut: "didn't" -> "didn".
_CONTRACTED: Final = frozenset(
    "aren can couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren won wouldn ain y".split()  # noqa: SIM905
)
# Parts after an apostrophe that carry no meaning of their own: "alice's", "can't", "I'd", "we'll", "y'all".
_CONTRACTION_TAILS: Final = frozenset(["s", "t", "d", "m", "re", "ve", "ll", "em", "all"])
# Japanese and Korean particles and endings, as single characters or pairs; alone they carry no meaning.
_CJK_STOP: Final = frozenset(
    """
    です ます した して いる ない から ので こと する れる てい でい まし いま った ってい たい んで ある という
    은 는 이 가 을 를 에 의 도 로 와 과 다 요 니 고 서 습니 니다 어요 아요 에서 입니
    """.split()  # noqa: SIM905
)

# Ranges of code points that are searched for combining marks when this module is imported.
_MARK_RANGES: Final = ((0x300, 0x1D00), (0x20D0, 0x2100), (0xA800, 0xAC00))


def _marks() -> str:
    r"""All combining marks in `_MARK_RANGES`, as the inside of a regular expression's character class.

    `\w` does not match them, so without this class Hindi and Thai words would be cut at every vowel sign.
    """
    points = [p for low, high in _MARK_RANGES for p in range(low, high) if unicodedata.category(chr(p)).startswith("M")]
    return "".join(re.escape(chr(point)) for point in points)


_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_HANGUL: Final = "\uac00-\ud7a3\u1100-\u11ff"
_KANA: Final = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff"
_SOUTH_EAST: Final = "\u0e01-\u0e4f\u0e81-\u0edf\u1000-\u109f\u1780-\u17dd"
# Scripts that do not separate words by spaces, for a class of a pattern.
UNSPACED: Final = _HAN + _HANGUL + _KANA + _SOUTH_EAST
_EMOJI: Final = "\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b"
_WORD: Final = rf"(?:(?![{UNSPACED}])[^\W_])(?:(?![{UNSPACED}])[^\W_]|[{_marks()}])*"
# Order matters: "1,000" must match as a number before its first digit matches as a word.
_TOKEN: Final = re.compile(
    rf"(?P<unspaced>[{UNSPACED}]+)"
    r"|(?P<number>\d+(?:[.,]\d+)+(?![^\W_]))"
    rf"|(?P<word>{_WORD}(?:['\u2019]{_WORD})*)"
    rf"|(?P<emoji>[{_EMOJI}])"
)
_UNSPACED_ONE: Final = re.compile(rf"[{UNSPACED}]")
_SINGLE: Final = re.compile(rf"[{_HAN}{_HANGUL}]")
_SPACED_WORD: Final = re.compile(r"\S+")

_stemmer: Final = EnglishStemmer()
_stemmer_lock: Final = threading.Lock()  # the stemmer holds the current word as state and is not thread-safe


def analyse(text: str) -> list[str]:
    """Split a text into terms, in order, with repeats.

    Args:
        text: Any valid Unicode.

    Returns:
        Terms of at most `TERM_CHARS_MAX` characters each; empty when the text has only stop words and punctuation.
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
            terms.append(token.replace(",", "")[:TERM_CHARS_MAX])  # 1,000 and 1000 are the same term
        else:
            terms.append(token)
    return terms


def query_terms(query: str) -> list[str]:
    """The distinct terms of a query, in order of first occurrence."""
    return list(dict.fromkeys(analyse(query)))


def indexed_line(content: str, speaker: str | None) -> str:
    """The text that is indexed and embedded: "speaker: text", so that a query can match the speaker's name."""
    return f"{speaker}: {content}" if speaker else content


def has_spaces(character: str) -> bool:
    """Whether a character belongs to a script that separates words by spaces."""
    return not _UNSPACED_ONE.match(character)


def forget_words() -> None:
    """Empty the cache of stems, which holds words of stored texts."""
    _stem.cache_clear()


def count_words(text: str) -> int:
    """The number of words, stop words included, at least 1; in unspaced scripts two characters count as one word."""
    spaced = sum(1 for _ in _SPACED_WORD.finditer(text))
    unspaced = sum(len(match.group()) for match in _TOKEN.finditer(text) if match.lastgroup == "unspaced")
    return max(1, spaced + unspaced // 2)


def _word_terms(token: str) -> tuple[str, ...]:
    """Terms of one word of a spaced script: "alice's" -> alic; "o'neil" -> oneil, neil; "didn't" -> none."""
    if "'" not in token and "\u2019" not in token:
        return _stem(token)
    parts = token.replace("\u2019", "'").split("'")
    if parts[-1] in _CONTRACTION_TAILS:
        parts.pop()
        if len(parts) == 1:
            return () if parts[0] in _CONTRACTED else _stem(parts[0])
    # The joined word and its longer parts: a search for "oneil" or for "neil" finds "O'Neil".
    joined = _stem("".join(parts))
    return joined + tuple(term for part in parts if len(part) > 2 for term in _stem(part))


def _unspaced_terms(run: str) -> list[str]:
    """Character pairs and single ideographs and syllables of a run of unspaced script, in order of position."""
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
    """The stem of one case-folded word; empty for a stop word. Cached: stemming takes about 20 microseconds."""
    if not word.isascii():
        # Accents are removed only where plain ASCII remains; in other scripts combining marks distinguish words.
        bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        word = bare if bare.isascii() else word
    if word in STOP_WORDS or not word:
        return ()
    if word.isascii() and word.isalpha() and len(word) <= TERM_CHARS_MAX:
        with _stemmer_lock:
            return (_stemmer.stemWord(word),)
    # Not an English word: kept as it is, cut to the limit.
    return (word[:TERM_CHARS_MAX],)
