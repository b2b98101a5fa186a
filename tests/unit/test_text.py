"""Terms: what the text leg finds, and what it must not trip over."""

import sys
import threading

import pytest
from snowballstemmer.english_stemmer import EnglishStemmer

from umi._core.text import STOP_WORDS, analyse, count_words, indexed_line, query_terms
from umi.limits import TERM_CHARS_MAX

ENDINGS = (("running", "nesses"), ("gener", "ations"), ("hop", "ingly"), ("relat", "ional"))


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Alice's dog is called Miso.", "What is Alice's dog's name, Miso?"),
        ("O'Neil moved to Cork.", "O'Neil"),
        ("O’Neil moved to Cork.", "O'Neil"),
        ("O'Neil moved to Cork.", "Neil"),
        ("I was running home.", "runs"),
        ("The café is closed.", "cafe"),
        ("ﬁne wine", "fine"),
        ("STRASSE", "straße"),
        ("It costs 1,200 euros.", "1200"),
        ("Version 2.3.1 is out.", "2.3.1"),
        ("We love 🐈 and 👍🏽", "👍"),
        ("私は東京に住んでいます。", "東京"),
        ("アリスは猫が好きです。", "アリス"),
        ("アリスは猫が好きです。", "猫"),
        ("我在北京的微软工作。", "微软"),
        ("我在北京的微软工作。", "北京"),
        ("김민수는 서울에 살고 있어요.", "서울"),
        ("김민수는 서울에 살고 있어요.", "김민수"),
        ("मुझे हिन्दी पसंद है", "हिन्दी"),
        ("ผมอยู่กรุงเทพ", "กรุงเทพ"),
    ],
)
def test_a_text_and_a_question_about_it_share_every_content_term(said: str, asked: str) -> None:
    wanted = query_terms(asked)
    assert wanted
    assert set(wanted) - {"name", "call"} <= set(analyse(said))


def test_different_words_stay_different() -> None:
    assert not set(analyse("東京")) & set(analyse("大阪"))
    assert not set(analyse("Tata")) & set(analyse("Tatra"))
    assert analyse("2.3.1") != analyse("2.3.2")


def test_stop_words_contractions_and_signs_leave_nothing() -> None:
    assert analyse("What is it that he didn't do? -- ... !!! it's, we've, won't") == []
    assert analyse("") == []
    assert analyse("です ます から") == []


def test_names_and_months_that_look_like_function_words_stay() -> None:
    assert analyse("Will moved to the US in May") == ["will", "move", "us", "may"]


def test_repeats_are_kept_in_texts_and_dropped_in_queries() -> None:
    assert analyse("tea or tea") == ["tea", "tea"]
    assert query_terms("tea or tea, Tea") == ["tea"]


def test_long_words_are_indexed_by_their_beginning() -> None:
    assert analyse("a" * 10_000) == ["a" * TERM_CHARS_MAX]


def test_combining_marks_do_not_cut_a_word() -> None:
    assert len(analyse("नमस्ते")) == 1


def test_the_line_names_the_speaker() -> None:
    assert indexed_line("Hi", "Bob") == "Bob: Hi"
    assert indexed_line("Hi", None) == "Hi"


def test_words_are_counted_before_stop_words_go() -> None:
    assert count_words("Where is the cat?") == 4
    assert count_words("...") == 1
    assert count_words("東京に住んでいます") > 1


def test_stop_words_are_folded_words() -> None:
    assert all(word == word.casefold() and word.isalpha() for word in STOP_WORDS)


def test_threads_do_not_mix_their_stems() -> None:
    groups = [[f"{start}{chr(97 + n % 26)}{chr(97 + n // 26)}{end}" for n in range(500)] for start, end in ENDINGS]
    found: dict[int, list[list[str]]] = {}

    def work(number: int) -> None:
        found[number] = [analyse(word) for word in groups[number]]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(groups))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    stemmer = EnglishStemmer()
    for number, words in enumerate(groups):
        assert found[number] == [[stemmer.stemWord(word)] for word in words]
