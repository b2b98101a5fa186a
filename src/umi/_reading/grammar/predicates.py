"""Predicates of clauses: auxiliaries, and the table of verb phrases that fill a slot."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from umi._reading.grammar import parsers as parse
from umi._reading.grammar.lexicon import ADVERBS, MODALS, STATUS_VERBS, words
from umi._reading.grammar.parsers import Context
from umi._reading.grammar.subjects import PEOPLE, Kind
from umi._reading.grammar.tokens import Tokens

Parser = Callable[[Context, int], list[str]]

_BE: Final = words("am is are was were be been being 'm 're 's")
HAVE: Final = frozenset(["has", "have", "had", "'ve"])
_PAST: Final = frozenset(["was", "were", "had", "did"])
_AUX_STEPS_MAX: Final = 10
# "got promoted" is a passive, "got a job" is not
_GOT: Final = words(
    "promoted hired laid fired married engaged moved postponed cancelled canceled rescheduled pushed delayed approved rejected merged "
    "closed fixed renamed recruited deployed delivered accepted transferred paid appointed divorced refunded shipped signed"
)


@dataclass(slots=True)
class Verb:
    """The auxiliaries before the main word, which is the token `index`."""

    index: int
    be: bool = False
    have: bool = False
    have_at: int = -1
    past: bool = False
    modal: bool = False
    can: bool = False
    negated: bool = False
    ended: bool = False  # "no longer", "used to"
    used_to: bool = False
    did: bool = False
    got: bool = False
    third: bool | None = None  # whether the subject needs "works" rather than "work"; None: not checked

    @property
    def perfect(self) -> bool:
        """Whether it is in the present perfect: "has lived", "have been"."""
        return self.have and not (self.past or self.modal or self.did)


def read_auxiliaries(tokens: Tokens, index: int, end: int) -> Verb:
    """Read the words between the subject and the main word; adverbs are skipped."""
    verb = Verb(index)
    for _ in range(_AUX_STEPS_MAX):
        low, following = tokens.at(verb.index), tokens.at(verb.index + 1)
        if verb.index >= end or not _step(verb, low, following):
            break
    return verb


def is_month(low: str, following: str) -> bool:
    """Whether "may" is a month and no auxiliary: "May 5"."""
    return low == "may" and following[:1].isdigit()


def _step(verb: Verb, low: str, following: str) -> bool:
    """Read one word, or a fixed pair, into `verb`; False at the main word."""
    pair = f"{low} {following}"
    if pair in {
        "no longer",
        "used to",
        "these days",
        "as of",
        "going to",
        "about to",
        "supposed to",
        "no more",
        "at last",
    }:
        verb.ended |= low in {"no", "used"}
        verb.negated |= low == "no"
        verb.used_to |= low == "used" and not verb.be
        verb.modal |= low in {"going", "about", "supposed"}
        verb.index += 2
        return True
    if low in MODALS and not is_month(low, following):
        verb.can |= low in {"can", "cannot"}
        verb.negated |= low == "cannot"
        verb.modal = True
    elif low in {"not", "n't", "never"}:
        verb.negated = True
    elif low == "'s" and (following in _PERFECTS or following == "been"):  # "she's moved": has, not is
        verb.have, verb.have_at = True, verb.index
    elif low in _BE:
        verb.be, verb.have = True, verb.have and low == "been"
        verb.past |= low in _PAST
    elif low in HAVE:
        verb.have, verb.have_at = True, verb.index
        verb.past |= low in _PAST
    elif low in {"got", "gotten"} and (following in _GOT or following in STATUS_VERBS):
        verb.be = verb.got = True
    elif low in {"do", "does", "did"}:
        verb.past |= low == "did"
        verb.did = True
    elif low not in ADVERBS or low == "no":
        return False
    else:
        verb.past |= low in {"previously", "formerly", "once"}
    verb.index += 1
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """One verb phrase that leads to a value of `slot`, read by `take`.

    `form`: a "state" holds when said in the present, and when it is "since", in the perfect with its beginning ("has lived in Oslo since
    May"); a past "event" brings a new state, a past "end" closes one.
    `pattern` matches the lower-case words from the verb to the value. `who` are allowed sorts of subject. `be` and
    `have` require that auxiliary, `passive` allows "was", `negative` makes the value negated ("hates").
    """

    form: str
    slot: str
    take: Parser
    confidence: float
    who: frozenset[Kind]
    pattern: re.Pattern[str]
    be: bool
    passive: bool
    negative: bool
    have: bool


THINGS: Final = frozenset({Kind.THING, Kind.PERSON, Kind.PRONOUN})
ANY: Final = frozenset(Kind)
_ALIVE: Final = PEOPLE | {Kind.PRONOUN}
_CREATURES: Final = _ALIVE | {Kind.PET}
_MY: Final = r"(?:my|our|his|her|their|its|the)"


def _none(_context: Context, _index: int) -> list[str]:
    """For ends that name no value: "quit my job"."""
    return [""]


_TABLE: Final[dict[str, list[Rule]]] = {}  # rules by their first word
_PARTICIPLES: Final = {  # of verbs of lasting states
    "work": "worked", "serve": "served", "report": "reported", "live": "lived", "reside": "resided", "study": "studied",
    "know": "known", "speak": "spoken", "love": "loved", "like": "liked", "enjoy": "enjoyed", "hate": "hated",
    "dislike": "disliked", "prefer": "preferred", "drink": "drunk", "eat": "eaten", "play": "played", "use": "used",
    "own": "owned", "drive": "driven",
}  # fmt: skip


def _rule(
    form: str,
    slot: str,
    take: Parser,
    confidence: float,
    verbs: str,
    after: str = "",
    *,
    who: frozenset[Kind] = _ALIVE,
    be: bool = False,
    passive: bool = False,
    negative: bool = False,
    have: bool = False,
) -> None:
    """Add one rule for each of `verbs`; `after` is the pattern of the words between verb and value."""
    told = [(word, form) for word in verbs.split()]
    told += [(_PARTICIPLES[word], "since") for word, _ in told if form == "state" and word in _PARTICIPLES]
    for word, how in told:
        pattern = re.compile(re.escape(word) + " " + after)
        _TABLE.setdefault(word, []).append(
            Rule(how, slot, take, confidence, who, pattern, be=be, passive=passive, negative=negative, have=have)
        )


def _work_rules() -> None:
    org, joined = parse.organisation, parse.employer_joined
    _rule(
        "state",
        "works_at",
        org,
        0.9,
        "work works working",
        r"(?:full time |part time |full-time |part-time |remotely |now |currently |as (?:an? |the )?(?:[\w-]+ ){1,4}?)?(?:at|for) ",
    )
    _rule("state", "works_at", org, 0.9, "employed", r"(?:at|by|with) ", be=True)
    _rule("event", "works_at", joined, 0.75, "joined")
    _rule(
        "state",
        "works_at",
        org,
        0.9,
        "a",
        r"(?:new |great |better )?(?:job|position|role|post) (?:at|with) ",
        have=True,
    )
    _rule(
        "event",
        "works_at",
        org,
        0.9,
        "started began begun",
        rf"(?:(?:working |work |(?:an? |{_MY} )?(?:new )?(?:job|role|position|gig|career) )(?:as (?:an? |the )?(?:[\w-]+ ){{1,4}}?)?(?:at|for|with)|at) ",
    )
    _rule(
        "event",
        "works_at",
        org,
        0.9,
        "got gotten landed found took taken accepted secured",
        rf"(?:an? |the |{_MY} )?(?:[\w-]+ ){{0,3}}?(?:job|position|role|post|gig)(?: as (?:an? )?(?:[\w-]+ ){{1,3}}?)? ?(?:at|with|from) ",
    )
    _rule("event", "works_at", org, 0.9, "hired recruited", r"(?:by|at) ", passive=True)
    _rule(
        "event",
        "works_at",
        org,
        0.85,
        "moved switched transferred went returned",
        r"(?:over |back )?(?:to work (?:for|at)|to working (?:for|at)) ",
    )
    _rule(
        "event",
        "works_at",
        org,
        0.85,
        "changed switched",
        r"(?:jobs|companies|employers) (?:to|and (?:is |am )?(?:now )?(?:working )?(?:at|for|with)) ",
    )
    _rule("end", "works_at", org, 0.85, "left quit")
    _rule("end", "works_at", org, 0.85, "quit left lost", rf"(?:{_MY} )?(?:job|position|role|post) (?:at|with) ")
    _rule("end", "works_at", org, 0.85, "resigned retired departed", r"from ")
    _rule("end", "works_at", org, 0.85, "laid", r"off (?:from|by|at) ", passive=True)
    _rule("end", "works_at", org, 0.85, "fired", r"(?:from|by) ", passive=True)
    _rule("end", "works_at", org, 0.9, "stopped quit finished", r"working (?:at|for|with) ")
    _rule("end", "works_at", _none, 0.75, "quit lost", rf"{_MY} job\b")
    _rule("end", "works_at", _none, 0.75, "laid", r"off ?(?:$|last|this|from my|in|yesterday|today)", passive=True)
    _rule("end", "works_at", _none, 0.7, "retired resigned", r"?(?:$|last|this|in|yesterday|today|early)")


def _role_rules() -> None:
    _rule("state", "role", parse.role, 0.8, "work works working", r"(?:at [\w-]+ )?as ")
    _rule("event", "role", parse.role, 0.85, "became become")
    _rule("event", "role", parse.role, 0.9, "promoted", r"to (?:be )?", passive=True)
    _rule("event", "role", parse.role, 0.85, "appointed named made", r"(?:as )?", passive=True)
    _rule("state", "role", parse.role, 0.85, "serve serves serving", r"as ")
    _rule("event", "role", parse.role, 0.85, "started began", r"(?:working |work )?as ")
    _rule("state", "attr:manager", parse.person, 0.85, "report reports reporting", r"(?:directly )?to ")
    _rule("state", "attr:manager", parse.person, 0.8, "managed", r"by ", be=True)


def _home_rules() -> None:
    there = parse.place
    who = _CREATURES
    _rule(
        "state",
        "lives_in",
        there,
        0.9,
        "live lives living reside resides residing",
        r"(?:now |currently |here |alone |together )?in ",
        who=who,
    )
    _rule("state", "lives_in", there, 0.85, "based", r"(?:in|out of) ", be=True)
    _rule(
        "event",
        "lives_in",
        there,
        0.9,
        "moved relocated emigrated immigrated",
        r"(?:back |over |out |away |permanently |house |home |here |abroad |recently |again )*to ",
    )
    _rule("event", "lives_in", there, 0.85, "settled", r"(?:down )?in ")
    _rule("end", "lives_in", there, 0.85, "moved", r"(?:out of|away from|out from) ")
    _rule("state", "origin", there, 0.85, "from", "", be=True)
    _rule("state", "origin", there, 0.85, "come comes", r"from ")
    _rule("event", "origin", there, 0.85, "born raised", r"(?:and raised )?in ", passive=True)
    _rule("event", "birthday", parse.when, 0.85, "born", r"on (?:the )?", passive=True)
    _rule("event", "visited", there, 0.8, "visited")
    _rule("event", "visited", there, 0.75, "went been", r"to ", passive=True)
    _rule("state", "studies_at", parse.organisation, 0.9, "study studies studying", r"(?:[\w-]+ ){0,4}?at ")
    _rule("event", "studies_at", parse.organisation, 0.85, "enrolled", r"(?:at|in) ", passive=True)
    _rule("event", "studies_at", parse.university, 0.85, "transferred moved switched", r"to ")
    _rule("end", "studies_at", parse.organisation, 0.85, "graduated", r"(?:[\w-]+ ){0,3}?from ")
    _rule("end", "studies_at", parse.organisation, 0.85, "dropped", r"out (?:of|from) ")
    _rule("state", "studies", parse.phrase, 0.8, "major majors majoring", r"in ")


def _people_rules() -> None:
    _rule("state", "name", parse.given_name, 0.85, "called named", "", who=ANY, be=True)
    _rule("event", "name", parse.given_name, 0.85, "renamed", r"(?:to |as )?", who=ANY, passive=True)
    _rule("state", "name", parse.given_name, 0.8, "go goes", r"by (?:the name (?:of )?)?")
    _rule("event", "name", parse.given_name, 0.85, "changed", rf"{_MY} (?:last |first |sur)?name to ")
    _rule("event", "age", parse.age, 0.9, "turned", "", who=_CREATURES)
    _rule("event", "age", parse.ordinal_birthday, 0.9, "celebrated had marked", rf"(?:{_MY} |an? )?", who=_CREATURES)
    _rule("event", "age", parse.ordinal_birthday, 0.9, "my his her their", "", who=_CREATURES, have=True)
    _rule("state", "married_to", parse.person, 0.9, "married", r"to ", be=True)
    _rule("event", "married_to", parse.person, 0.9, "married")
    _rule("state", "partner", parse.person, 0.85, "engaged", r"to ", be=True)
    _rule("state", "partner", parse.person, 0.8, "dating", "", be=True)
    _rule("event", "partner", parse.person, 0.8, "started", r"dating ")
    _rule("end", "partner", parse.person, 0.85, "broke split", r"up with ")
    _rule("end", "married_to", parse.person, 0.85, "divorced")
    _rule("state", "knows", parse.acquaintance, 0.75, "know knows")
    _rule("state", "knows", parse.acquaintance, 0.85, "friends", r"with ", be=True)
    _rule("state", "allergic_to", parse.phrases, 0.9, "allergic", r"to ", be=True)
    _rule("state", "speaks", parse.language, 0.85, "speak speaks", r"")
    _rule("state", "learns", parse.language, 0.85, "learning", be=True)
    _rule("end", "learns", parse.language, 0.85, "stopped quit", r"learning ")
    _rule("state", "speaks", parse.language, 0.85, "fluent", r"in ", be=True)
    _rule("state", "weight", parse.phrase, 0.85, "weigh weighs", r"(?=\d)", who=_CREATURES | {Kind.THING})


def _taste_rules() -> None:
    liked = parse.liked
    _rule("state", "likes", liked, 0.85, "love loves like likes enjoy enjoys adore adores")
    _rule(
        "state",
        "likes",
        liked,
        0.85,
        "hate hates dislike dislikes detest detests loathe loathes despise despises",
        negative=True,
    )
    _rule("state", "likes", liked, 0.85, "into", "", be=True)
    _rule("state", "likes", liked, 0.85, "fond", r"of ", be=True)
    _rule("state", "likes", liked, 0.8, "keen", r"on ", be=True)
    _rule("state", "likes", liked, 0.8, "crazy", r"about ", be=True)
    _rule("state", "likes", liked, 0.8, "obsessed", r"with ", be=True)
    _rule("state", "likes", liked, 0.85, "a", r"(?:big |huge |great |massive |real |lifelong )?fan of ", be=True)
    _rule("end", "likes", liked, 0.85, "stopped", r"(?:liking|enjoying|loving) ")
    _rule("end", "likes", liked, 0.8, "went gone", r"off ", passive=True)
    _rule("end", "likes", liked, 0.8, "fell", r"out of love with ")
    _rule("event", "likes", liked, 0.85, "started", r"(?:liking|enjoying|loving|to like|to enjoy|to love) ")
    _rule("event", "likes", liked, 0.8, "grown grew", r"to (?:like|love|enjoy) ")
    _rule("state", "prefers", parse.phrase, 0.85, "prefer prefers")
    _rule("state", "drinks", parse.things, 0.75, "drink drinks drinking", r"(?:only )?")
    _rule("state", "eats", parse.things, 0.7, "eat eats")
    _rule("state", "plays", parse.things, 0.75, "play plays", r"(?:the )?")
    _rule("end", "plays", parse.things, 0.8, "stopped quit", r"playing (?:the )?")
    _rule(
        "end",
        "habit",
        parse.phrase,
        0.8,
        "quit stopped",
        r"(?=\w+ing\b)(?!working|using|playing|drinking|eating|liking|enjoying|loving)",
    )
    _rule("end", "drinks", parse.things, 0.8, "quit stopped", r"drinking ")
    _rule("end", "eats", parse.things, 0.8, "quit stopped", r"eating ")
    _rule("event", "drinks", parse.things, 0.75, "started", r"drinking ")
    _rule("state", "uses", parse.phrase, 0.8, "use uses using", "", who=ANY)
    _rule("event", "uses", parse.phrase, 0.8, "started", r"(?:using|to use) ", who=ANY)
    _rule("end", "uses", parse.phrase, 0.85, "stopped quit", r"using ", who=ANY)


def _thing_rules() -> None:
    money, when = parse.money, parse.coming
    thing = frozenset({Kind.THING})
    _rule("event", "location", parse.place, 0.85, "moved relocated", r"(?:back |over )?to ", who=thing, passive=True)
    _rule("state", "location", parse.place, 0.85, "located based headquartered", r"in ", who=THINGS, be=True)
    _rule("state", "attr:departure", when, 0.85, "leaves departs", r"(?=at )", who=thing)
    _rule("state", "attr:arrival", when, 0.85, "arrives lands", r"(?=at )", who=thing)
    _rule("state", "attr:end", when, 0.85, "ends finishes", r"(?=at )", who=thing)
    _rule("state", "attr:closing time", when, 0.85, "closes close", r"(?=at )", who=thing)
    _rule("state", "attr:opening time", when, 0.85, "opens open", r"(?=at )", who=thing)
    _rule("state", "attr:waking time", when, 0.8, "wake wakes get gets", r"up (?=at )")
    _rule("state", "attr:bedtime", when, 0.8, "go goes", r"to (?:bed|sleep) (?=at )")
    _rule("state", "costs", money, 0.9, "costs cost costing", r"", who=THINGS)
    _rule("state", "costs", money, 0.85, "sells selling", r"for ", who=THINGS)
    _rule("state", "costs", money, 0.9, "priced", r"at ", who=THINGS, be=True)
    _rule("event", "costs", money, 0.9, "went gone", r"(?:up|down) (?:in price )?to ", who=THINGS)
    _rule(
        "event",
        "costs",
        money,
        0.9,
        "rose risen increased decreased dropped fell fallen jumped climbed raised lowered cut reduced bumped changed hiked",
        r"(?:in price )?to ",
        who=THINGS,
        passive=True,
    )
    _rule("event", "costs", money, 0.85, "was were", r"(?:raised|lowered|cut|reduced|bumped) to ", who=THINGS)
    _rule("state", "scheduled_at", when, 0.85, "starts begins start begin", r"(?:at |on |in )?(?:the )?", who=THINGS)
    _rule("state", "scheduled_at", when, 0.85, "takes", r"place (?:at |on |in )?(?:the )?", who=THINGS)
    _rule(
        "state",
        "scheduled_at",
        when,
        0.85,
        "scheduled set planned booked",
        r"(?:for|on|at|to start|to begin) (?:the )?(?:on |at )?",
        who=THINGS,
        be=True,
    )
    _rule(
        "event",
        "scheduled_at",
        when,
        0.9,
        "moved rescheduled postponed pushed delayed shifted brought slipped slid",
        r"(?:back |forward |up |out )?(?:to|until|till) (?:the )?",
        who=THINGS,
        passive=True,
    )
    _rule("state", "due", when, 0.85, "due", r"(?:on |by |at |in )?(?:the )?", who=THINGS, be=True)
    _rule(
        "event",
        "version",
        parse.phrase,
        0.8,
        "upgraded updated bumped",
        r"to (?=(?:version |v)?\d)",
        who=THINGS,
        passive=True,
    )
    _rule("state", "version", parse.phrase, 0.8, "runs running", r"(?:on )?(?:version )(?=v?\d)", who=THINGS)


def _possession_rules() -> None:
    _rule("state", "owns", parse.phrases, 0.85, "own owns")
    _rule("end", "owns", parse.phrase, 0.85, "sold", rf"(?:off )?{_MY} (?:old )?")
    _rule("end", "owns", parse.phrase, 0.8, "gave", rf"away {_MY} (?:old )?")
    _rule("state", "drives", parse.phrase, 0.8, "drive drives", r"an? ")


for _build in (_work_rules, _role_rules, _home_rules, _people_rules, _taste_rules, _thing_rules, _possession_rules):
    _build()

_PERFECTS: Final = (
    frozenset(word for word, rules in _TABLE.items() if any(rule.form in {"event", "end"} for rule in rules)) - {"had"}
) | {"worked", "lived", "resided", "studied"}
_NO_VERBS: Final = words("a my his her their from into fond keen crazy allergic fluent due obsessed friends")
_DEEDS: Final = words(
    "bought got adopted purchased acquired switched migrated converted replaced renamed marked put raised increased reduced met went "
    "came saw took visited died passed slipped"
)
VERBS: Final = (
    frozenset(word for word, rules in _TABLE.items() if any(rule.form != "since" for rule in rules)) - _NO_VERBS
    | frozenset(STATUS_VERBS)
    | _DEEDS
)
"""Words that can begin a predicate."""


def without_from(context: Context, index: int, lowered: str) -> tuple[str, int, str]:
    """A clause from token `index` without "from A" before "to B": the words, how many tokens were cut, A as written."""
    match = _FROM.search(lowered)
    if match is None:
        return lowered, 0, ""
    begin = index + lowered[: match.start(1)].count(" ")
    count = match.group(1).count(" ")
    return lowered[: match.start()] + " " + lowered[match.end() :], count + 1, context.written(begin, begin + count)


_FROM: Final = re.compile(r" from ((?:[\w'.&$€£%,-]+ ){1,4}?)(?=to )")


def rules_for(word: str) -> list[Rule]:
    """The rules whose phrase begins with this word."""
    return _TABLE.get(word, [])
