"""Subjects of clauses: the noun phrase at the start of a clause, what sort of subject it is, and its key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from umi._reading.grammar.lexicon import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    CHILDREN,
    CONJUNCTIONS,
    EVENT_NOUNS,
    ITEM_HEADS,
    KIN,
    MANY_KIN,
    NAME_STOPS,
    PETS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    SIBLINGS,
    UNIQUE_KIN,
    WORK_ITEMS,
    words,
)
from umi._reading.grammar.slots import attribute_slot
from umi._reading.grammar.tokens import Tokens
from umi._reading.grammar.values import fold, singular
from umi.types import EntityType

# Dropped from keys, so that "Dr. Smith" and "Smith" are one subject.
_HONORIFICS: Final = re.compile(r"^(?:(?:mr|mrs|ms|miss|mx|dr|prof|professor|sir|madam|dame)\.? )+")
_LEADS: Final = re.compile(r"^(?:the|a|an) ")
# A full stop after one belongs to the name.
_HONORIFIC_WORDS: Final = words("mr mrs ms dr prof professor aunt uncle miss sir")
_NAME_WORDS_MAX: Final = 5
_NOUN_WORDS_MAX: Final = 4
_MODIFIERS: Final = words(  # adjectives between a possessive and its noun that are skipped: "my older sister"
    "new old older younger little big elder eldest oldest youngest other first second third own late best "
    "current former previous latest beloved dear lovely sweet next upcoming weekly monthly daily annual"
)
_ORGANISATION: Final = words(  # a name with one of these words is an organisation's
    "inc corp ltd llc gmbh company university college school bank institute foundation hospital labs studio "
    "studios agency ministry council team department startup firm association group"
)


class Kind(StrEnum):
    """The sort of a subject; rules for slots ask for certain sorts."""

    SPEAKER = "speaker"
    PERSON = "person"  # a proper name
    KIN = "kin"  # "my sister"
    PET = "pet"
    THING = "thing"
    PRONOUN = "pronoun"
    MEMBER = "member"  # "one of them"


PEOPLE: Final = frozenset({Kind.SPEAKER, Kind.PERSON, Kind.KIN})


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of a clause.

    Attributes:
        name: As written.
        key: The key under which its statements are stored; empty while it is not resolved.
        kind: What sort of subject it is.
        end: The first token after it.
        owner: For a possessed noun ("Anna's salary"), the key of the owner.
        owner_name: The owner as written.
        noun: The possessed noun, "salary".
        definite: A description that may refer to something else elsewhere ("the meeting").
        vague: A description that very likely does ("my friend").
        aliases: Pairs of keys that name the same subject.
        pronoun: The pronoun or possessive it begins with, in lower case.
    """

    name: str
    key: str
    kind: Kind
    end: int
    owner: str = ""
    owner_name: str = ""
    noun: str = ""
    definite: bool = False
    vague: bool = False
    aliases: tuple[tuple[str, str], ...] = ()
    pronoun: str = ""

    @property
    def entity_type(self) -> EntityType:
        """The entity type (seed 000) of this subject."""
        if self.kind in PEOPLE or self.kind is Kind.PET:
            words = set(self.key.split())
            return EntityType.ORGANIZATION if words & _ORGANISATION else EntityType.PERSON
        return _thing_type(self.key)


def _thing_type(key: str) -> EntityType:
    words = set(key.split())
    if words & EVENT_NOUNS:
        return EntityType.EVENT
    if words & {"ticket", "issue", "task", "bug", "pr", "todo"}:
        return EntityType.TASK
    if words & _ORGANISATION:
        return EntityType.ORGANIZATION
    if "project" in words:
        return EntityType.PROJECT
    return EntityType.TOPIC


def subject_key(name: str) -> str:
    """The key that all spellings of a subject share: NFKC, case-folded, without articles, honorifics and "project"."""
    key = fold(name.replace(" #", " ")).replace("’", "'").strip(' .,:;!?"“”#')
    key = _LEADS.sub("", _HONORIFICS.sub("", key)) or key
    # "project Apollo" and "Apollo" are one subject; "project 7" needs the word.
    if key.startswith("project ") and not key[8:9].isdigit():
        return key[8:]
    if key.endswith(" project") and len(key) > 8:
        return key[:-8]
    return key


def proper_run(tokens: Tokens, index: int) -> int:
    """The end of the run of capitalised words that begins at `index`; `index` itself when there is none."""
    end = index
    while end - index < _NAME_WORDS_MAX and tokens.capital(end) and tokens.at(end) not in NAME_STOPS:
        end += 1
        if tokens.at(end) == "." and tokens.at(end - 1) in _HONORIFIC_WORDS | {"st"} and tokens.capital(end + 1):
            end += 1
    return end


def written(text: str, tokens: Tokens, start: int, end: int) -> str:
    """The verbatim text of the tokens `start` to `end`."""
    return text[tokens.start[start] : tokens.end[end - 1]] if end > start else ""


def is_third(subject: Subject) -> bool:
    """Whether a verb in the present tense takes an -s with this subject."""
    if subject.kind is Kind.SPEAKER or (subject.pronoun in {"i", "we", "they", "both"} and not subject.noun):
        return False
    last = subject.key.split()[-1] if subject.key else subject.pronoun
    # Plural nouns ("my cats") take no -s.
    return not (subject.kind in {Kind.THING, Kind.KIN, Kind.PET} and singular(last) != last)


# Words that end a noun phrase. Some words listed as adverbs are adjectives as well, and do not.
_BREAKS: Final = (
    PRONOUNS
    | CONJUNCTIONS
    | AUXILIARIES
    | PREPOSITIONS
    | ARTICLES
    | (ADVERBS - {"great", "good", "pretty", "even", "sure"})
)


def noun_run(tokens: Tokens, index: int, verbs: frozenset[str]) -> int:
    """The end of a plain noun phrase: words up to a verb, auxiliary, preposition or punctuation mark.

    Args:
        tokens: The tokens of the sentence.
        index: The first token of the phrase.
        verbs: Words that can begin a predicate.
    """
    end = index
    while end < len(tokens) and end - index < _NOUN_WORDS_MAX:
        low = tokens.at(end)
        if not (low[0].isalnum() or low == "#") or low in _BREAKS or (low in verbs and end > index):
            break
        if low == "used" and tokens.at(end + 1) == "to":  # "my husband Jan used to ..."
            break
        end += 1
    return end


def parse_subject(
    text: str, tokens: Tokens, index: int, speaker: tuple[str, str], verbs: frozenset[str]
) -> Subject | None:
    """Parse the subject that begins at token `index`; None when there is none.

    Args:
        text: The message.
        tokens: The tokens of the sentence.
        index: Where the subject begins.
        speaker: Name and key of "I".
        verbs: Words that can begin a predicate.
    """
    low = tokens.at(index)
    # Closed classes first; a proper name or item is what remains.
    if low in {"i", "we", "my", "our"}:
        return _first_person(text, tokens, index, speaker, verbs)
    if low in {"he", "she", "they", "it"}:
        return Subject(tokens.word[index], "", Kind.PRONOUN, index + 1, pronoun=low)
    if low in {"his", "her", "their", "its"}:
        return _possessed(text, tokens, index + 1, ("", ""), verbs, pronoun=low)
    if low in {"one", "both"} or (low == "the" and tokens.at(index + 1) in {"other", "others"}):
        return _member(tokens, index)
    if low in {"the", "this"}:
        return _described(text, tokens, index, verbs)
    return _named(text, tokens, index, verbs) or _item(text, tokens, index, verbs)


def _first_person(
    text: str, tokens: Tokens, index: int, speaker: tuple[str, str], verbs: frozenset[str]
) -> Subject | None:
    if tokens.at(index) in {"i", "we"}:
        return Subject(speaker[0], speaker[1], Kind.SPEAKER, index + 1, pronoun=tokens.at(index))
    return _possessed(text, tokens, index + 1, speaker, verbs)


def _possessed(
    text: str, tokens: Tokens, index: int, owner: tuple[str, str], verbs: frozenset[str], *, pronoun: str = ""
) -> Subject | None:
    """The subject after "my" or "Anna's": "sister", "sister Anna", "favourite colour", "dog"."""
    begin = index
    while tokens.at(begin) in _MODIFIERS:
        begin += 1
    end = noun_run(tokens, begin, verbs)
    if end == begin:
        return None
    name_start = next((place for place in range(begin + 1, end) if tokens.capital(place)), end)
    if tokens.at(begin) in {"favourite", "favorite"} and end == begin + 1 and tokens.at(end) in verbs:
        end += 1  # "favourite drink": a noun here, though it is in the list of verbs
        name_start = end
    noun = " ".join(tokens.low[begin:name_start])
    # "my work colleague": the kinship word at the end decides.
    if noun != "best friend" and name_start - begin > 1 and tokens.at(name_start - 1) in KIN:
        noun = tokens.at(name_start - 1)
    if tokens.at(index) == "best" and noun == "friend":
        noun = "best friend"
    kind = _kind_of_noun(noun)
    named = name_start < end and kind in {Kind.KIN, Kind.PET}
    if tokens.at(end) == "'s":
        inner = _owner(text, tokens, (begin, name_start, end), owner, noun, named=named)
        return _possessed(text, tokens, end + 1, inner, verbs, pronoun=pronoun)
    key = f"{owner[1]}'s {noun}"
    if named:
        proper = written(text, tokens, name_start, end)
        # "my sister Anna" makes "my sister" an alias of Anna; "my friend Bob" does not, since people have many.
        aliases = ((key, subject_key(proper)),) if owner[1] and noun not in MANY_KIN else ()
        return Subject(
            proper, subject_key(proper), kind, end, owner[1], owner[0], noun, aliases=aliases, pronoun=pronoun
        )
    if name_start < end:
        noun = " ".join(tokens.low[begin:end])
        key = f"{owner[1]}'s {noun}"
    name = f"{owner[0]}'s {noun}" if owner[0] else noun
    common, vague = kind is Kind.KIN and noun not in UNIQUE_KIN, noun in MANY_KIN
    key = key if owner[1] else ""
    return Subject(
        name, key, kind, end, owner[1], owner[0], noun, definite=common and not vague, vague=vague, pronoun=pronoun
    )


def _owner(
    text: str, tokens: Tokens, cut: tuple[int, int, int], owner: tuple[str, str], noun: str, *, named: bool
) -> tuple[str, str]:
    """Name and key of the inner owner in "my sister Anna's salary"."""
    if named:
        proper = written(text, tokens, cut[1], cut[2])
        return proper, subject_key(proper)
    noun = noun if cut[1] == cut[2] else " ".join(tokens.low[cut[0] : cut[2]])
    return f"{owner[0]}'s {noun}", f"{owner[1]}'s {noun}" if owner[1] else ""


def _kind_of_noun(noun: str) -> Kind:
    """The sort of subject that a possessed noun names."""
    words = set(noun.split())
    if noun in KIN or noun in CHILDREN or noun in SIBLINGS or words & KIN:
        return Kind.KIN
    return Kind.PET if words & PETS else Kind.THING


def _member(tokens: Tokens, index: int) -> Subject | None:
    """One of several: "one", "the other", "one of them", "one of Alice's cats"; not "one of my favourites"."""
    end = index + (2 if tokens.at(index) == "the" else 1)
    if tokens.at(end) == "of" and tokens.at(end + 1) == "them":
        end += 2
    elif tokens.at(end) == "of" and tokens.at(end + 2) == "'s" and tokens.capital(end + 1):
        owner = tokens.word[end + 1]
        if tokens.at(end + 3) not in _HELD:
            return None
        return Subject(owner, subject_key(owner), Kind.MEMBER, end + 4, pronoun="one")
    elif tokens.at(end) == "of":
        if tokens.at(end + 1) not in POSSESSIVES | {"the", "these", "those"} or tokens.at(end + 2) not in _HELD:
            return None
        end += 3
    elif tokens.at(end) == "one":
        end += 1
    return Subject(tokens.word[index], "", Kind.MEMBER, end, pronoun="one")


_HELD: Final = PETS | CHILDREN | SIBLINGS  # what "one of my ..." may refer to


def _described(text: str, tokens: Tokens, index: int, verbs: frozenset[str]) -> Subject | None:
    """A subject that begins with an article: "The Pro plan", "the price of the Pro plan", "the meeting"."""
    end = noun_run(tokens, index + 1, verbs)
    if end == index + 1:
        return None
    noun = " ".join(tokens.low[index + 1 : end])
    if tokens.at(end) == "'s":
        owner = written(text, tokens, index + 1, end)
        return _possessed(text, tokens, end + 1, (owner, subject_key(owner)), verbs)
    if tokens.at(end) in {"of", "for"}:
        inner_start = end + 1 + (tokens.at(end + 1) in ARTICLES)
        inner_end = noun_run(tokens, inner_start, verbs)
        owner = written(text, tokens, inner_start, inner_end)
        if owner and tokens.at(inner_start) not in PRONOUNS:
            key = subject_key(owner)
            common = not any(
                tokens.capital(place) or tokens.at(place)[0].isdigit() for place in range(inner_start, inner_end)
            )
            # "the number of outcomes" states no attribute of outcomes.
            if attribute_slot(noun) and not (common and noun.endswith("number")):
                return Subject(owner, key, Kind.THING, inner_end, key, owner, noun, definite=common)
            name = written(text, tokens, index + 1, inner_end)
            return Subject(name, subject_key(name), Kind.THING, inner_end, definite=not tokens.capital(inner_start))
    if tokens.at(end) in {"with", "about"} and tokens.at(end - 1) in EVENT_NOUNS | WORK_ITEMS:
        inner_end = noun_run(tokens, end + 1, verbs)
        if inner_end > end + 1:
            return _thing(text, tokens, index + 1, inner_end, definite=True)
    return _thing(text, tokens, index + 1, end, definite=True)


def _thing(text: str, tokens: Tokens, start: int, end: int, *, definite: bool) -> Subject:
    """A thing from its words; a compound attribute at the end ("Pro plan price") makes the rest its owner."""
    name = written(text, tokens, start, end)
    distinct = any(tokens.capital(place) or tokens.at(place)[0].isdigit() for place in range(start, end))
    owner = owner_name = noun = ""
    for cut in range(max(start + 1, end - 2), end):  # "Pro plan price": the attribute comes last
        tail = " ".join(tokens.low[cut:end])
        if tail in _COMPOUND_ATTRIBUTES:
            # "the new wifi password" is the wifi's, "the new deadline" the deadline's
            first = start + 1 if tokens.low[start] in _WHICH and not tokens.capital(start) else start
            owner_name = written(text, tokens, first, cut) or tail
            owner, noun = subject_key(owner_name), tail
            break
    words = set(tokens.low[start:end])
    kind = Kind.PET if words & PETS else Kind.KIN if tokens.at(end - 1) in KIN and not distinct else Kind.THING
    return Subject(name, subject_key(name), kind, end, owner, owner_name, noun, definite=definite and not distinct)


_WHICH: Final = frozenset({"new", "current", "latest", "actual"})
_COMPOUND_ATTRIBUTES: Final = words(  # attributes that may end a compound
    "price cost fee deadline budget status version password due-date salary owner lead venue launch-date port "
    "url location address"
) | {"due date", "launch date", "start date"}


def _named(text: str, tokens: Tokens, index: int, verbs: frozenset[str]) -> Subject | None:
    """A subject that begins with a proper name: "Anna", "Anna's salary", "Acme Inc"."""
    end = proper_run(tokens, index)
    if end == index or (end == index + 1 and (tokens.at(index) in verbs or _gerund(tokens.at(index)))):
        return None
    item = tokens.at(end) in ITEM_HEADS or (tokens.at(end - 1) in ITEM_HEADS and tokens.at(end)[-1:].isdigit())
    if tokens.at(end).isdigit() or tokens.at(end) == "#" or item:
        return _item(text, tokens, index, verbs)
    name = written(text, tokens, index, end)
    if tokens.at(end) == "'s" and end + 1 < len(tokens) and _may_possess(tokens, end + 1, verbs):
        owned = _possessed(text, tokens, end + 1, (name, subject_key(name)), verbs)
        if owned is not None:
            return owned
    lows = set(tokens.low[index:end])
    if lows & ITEM_HEADS or tokens.at(end - 1)[-1].isdigit():
        return _thing(text, tokens, index, end, definite=False)
    return Subject(name, subject_key(name), Kind.PERSON, end)


def _gerund(low: str) -> bool:
    """Whether a capitalised word is a verb form at the start of a sentence ("Moving"), not a name."""
    return len(low) > 6 and low.endswith("ing")


def _may_possess(tokens: Tokens, index: int, verbs: frozenset[str]) -> bool:
    """Whether 's is a possessive: a noun phrase and then a verb follow; not so in "Tom's 30", "Alice's joined"."""
    # With no word excluded as a verb: "Alice's drink is ...".
    end = noun_run(tokens, index, frozenset())
    if end == index or tokens.at(index)[0].isdigit() or tokens.at(index) in verbs:
        return False
    following = noun_run(tokens, index, verbs)
    after = tokens.at(following)
    used = after == "used" and tokens.at(following + 1) == "to"
    return used or after in AUXILIARIES or after in verbs or after in ADVERBS or after in {"'s", "of"}


def _item(text: str, tokens: Tokens, index: int, verbs: frozenset[str]) -> Subject | None:
    """A numbered or named item: "Order 12", "ticket #42", "project Apollo", "Pro plan"."""
    end = noun_run(tokens, index, verbs)
    while end > index and tokens.at(end - 1) == "#":
        end -= 1
    words = tokens.low[index:end]
    numbered = any(word[0].isdigit() or word[-1].isdigit() or word == "#" for word in words[1:])
    if not words or (singular(words[0]) not in ITEM_HEADS and words[-1] not in ITEM_HEADS and not numbered):
        return None
    if not numbered and not any(tokens.capital(place) for place in range(index + (words[0] in ITEM_HEADS), end)):
        return None
    if words[0] in NAME_STOPS or (words[0] not in ITEM_HEADS and not tokens.capital(index)):
        return None
    if not set(map(singular, words)) & (ITEM_HEADS | WORK_ITEMS | EVENT_NOUNS):
        return None
    if tokens.at(end) == "'s" and _may_possess(tokens, end + 1, verbs):
        owner = written(text, tokens, index, end)
        return _possessed(text, tokens, end + 1, (owner, subject_key(owner)), verbs)
    return _thing(text, tokens, index, end, definite=False)
