"""The speaker's own: favourites and hobbies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from umi.pipelines.gist import frames, mood
from umi.pipelines.gist.message import About, Gist, Message, named, opened, over, said, same
from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.slots import attribute_slot

_HAVING: Final = re.compile(r"\b(?:i have|i've got|i've|i got|i found|there's) a new\b", re.IGNORECASE)
_VALUE: Final = r"[\"'“‘]?(?P<value>[^,.;:!?\"”()]{2,60}?)[\"'”’]?"
_TAIL: Final = r"(?=\s*(?:$|[,.;:!?()\"”]|\b(?:now|these days|nowadays|from now on|instead|and|but|because|since|after|at the moment|hands down|as of|any ?more|today|lately|for now|currently|by the way|again|all the way|any day|though|not|since|for (?:years|the|a|me)|any longer|as my|over|all along|right now|, )\b))"
_VALUE_AFTER: Final = re.compile(
    rf"^\s*(?:,|:|=|-|–|—|\s)*\s*(?:(?:of mine|now|actually|really|currently|these days|is|are|'s|would be|that would be|that's|has to be|became|becomes|has become|will be|changed (?:from [^.,;]+? )?to|switched (?:from [^.,;]+? )?to|went from [^.,;]+? to|has (?:switched|changed|moved) to|has been|has always been|remains|stays|was always|turns out to be|it's|it is|just|still|definitely|officially|by far|hands down|as of (?:today|now|this week))[\s,:]*)+{_VALUE}{_TAIL}",
    re.IGNORECASE,
)
_VALUE_BEFORE: Final = re.compile(
    r"(?:^|[.,;:!?]\s*|\b(?:i'd say|and|so|but|then|well|that|because|say|now|since|think|guess|decided|also|weekend|today|correction|actually|honestly)\s+)"
    r"(?P<value>[^,.;:!?]{2,60}?)\s+(?:(?:has |have )?(?:is|are|'s|was|has been|became|becomes|has become|remains|replaced|replaces|took over|takes over|has taken|dethroned|beats|overtook|wins|won|counts|makes|has always been|is officially|will be|being|it is)\b)[^.,;!?]{0,50}?\s*$",
    re.IGNORECASE,
)
_VALUE_LOOSE: Final = re.compile(
    rf"\b(?:it's|it is|it should be|should be|should read|i meant|meant|make (?:that|it)|all for|all about|go with|went with|try|prefer|in love with|switched to|moved on to|that's|replaced (?:it )?(?:by|with)|chose|choose|fan of|swear by|into|is|now|say)\s+(?:now |actually |really |been |in fact )*{_VALUE}{_TAIL}",
    re.IGNORECASE,
)
_NO_VALUE: Final = re.compile(
    r"^(?:hard|easy|difficult|weird|boring|important|known|famous|great|nice|fun|expensive|cheap|special|secret|changing|well|quite|really|pretty|rather|kind|sort|hidden|personal)\b|\bto [a-z]+$|^(?:a|an|the|that|this|it|not|no|my|wrong|right|something|nothing|none|gone|over|too|so|very|more|much|in|on|at|of|to|from|with|up|off|out|was|were|i|you|they|what|which|one|different|closed|terrible|great|good|bad|always|never)(?:\b (?:of|one|any|more)|$)|\bfavou?rite\b|\bpreferred\b|\bnever was\b|^(?:it|that|they|there|you|i|what|this|which|he|she|we|someone|somebody|nothing|something)\b",
    re.IGNORECASE,
)


def choice_slot(key: str) -> str:
    """The slot of "favourite café" or "preferred text editor"."""
    kind, _, noun = key.partition(" ")
    return attribute_slot(f"favourite {noun}") if kind == "favourite" else f"attr:{key}"


def read_choice(message: Message) -> list[Gist]:
    """The speaker's favourite or usual something."""
    chosen = message.sorted_out(Sort.CHOICE)
    mine = [span for span in chosen if span.text.lower().startswith(("my ", "our ", "a ", "the ", "any "))]
    if not mine or re.search(
        r"\b(?:brother|sister|mother|neighbou?r|friend|colleague|her|his|their|your)(?:'s)?\b[^.]*"
        + re.escape(mine[0].text.split(" ", 1)[1]),
        message.text,
        re.IGNORECASE,
    ):
        return []
    key = mine[0].key
    slot = choice_slot(key)
    if not slot:
        return []
    known = tuple(opened(message, message.speaker[1], (slot,)))
    old = [one.value for one in known]
    values = [value for value in _choice_values(message, mine) if value]
    fresh = [value for value in values if not any(same(value, one) for one in old)]
    again = [one.value for one in known if named(message, one)]
    about = About(message.speaker[0], message.speaker[1], slot, (), known)
    own = any(span.text.lower().startswith(("my ", "our ")) for span in mine) or bool(_HAVING.search(message.mood.live))
    if fresh and (own or " of mine" in message.mood.live):
        return [said(message, about, fresh[0], old, denied=bool(again))]
    if known and message.mood.ended and not re.search(r"\b(?:always|still|best)\b", message.mood.live, re.IGNORECASE):
        return [over(about, old[0])]
    return [said(message, about, again[0], ())] if again else []


def _choice_values(message: Message, chosen: Sequence[Span]) -> list[str]:
    """Candidates, the likeliest first: what is said to hold stands above what was."""
    found: list[tuple[int, str]] = []
    for span in chosen:
        ranges = [one for one in message.mood.ranges if one[0] <= span.start < one[1]]
        if not ranges:
            continue
        start, end = ranges[0]
        after = _VALUE_AFTER.match(message.text[span.end : end].replace("’", "'"))
        if after is not None:
            past = re.match(r"\s*(?:used to be|was)\b", message.text[span.end : end])
            found.append((-5 if past else 4, after["value"]))
        before = _VALUE_BEFORE.search(message.text[start : span.start].replace("’", "'"))
        if before is not None:
            text = message.text[start : span.start].lower()
            lost = re.search(r"\b(?:was never|isn't|is not|is no longer|was|no longer)\b[^.]*$", text)
            found.append((-5 if lost else 3, before["value"]))
    found += [(1, match["value"]) for match in _VALUE_LOOSE.finditer(message.mood.live)]
    found += [(mood.age_of(name), name.text) for name in message.sorted_out(Sort.NAME)]
    cleaned = [(score, _clean(value)) for score, value in found]
    return [
        value
        for score, value in sorted(cleaned, key=lambda pair: -pair[0])
        if score > -2 and value and not _NO_VALUE.search(value)
    ]


def _clean(value: str) -> str:
    value = re.split(r"\b(?:that|says|said|tells?|told)\b ", value)[-1]
    value = re.sub(
        r"^(?:after|since|as of|from|by|before|in|starting|this|last) (?:(?:last|this|next|the past) )?(?:weekend|week|month|year|spring|summer|autumn|winter|today|yesterday|now|\w+day|january|february|march|april|may|june|july|august|september|october|november|december)\s+",
        "",
        value.strip(),
        flags=re.IGNORECASE,
    )
    text = re.sub(
        r"^(?:(?:now|actually|really|just|still|always|probably|definitely|that|and|so|but|well|been|if anybody asks|hello)\s+)+",
        "",
        value.strip(" '\"“”‘’"),
        flags=re.IGNORECASE,
    )
    return re.sub(r"\s+(?:now|has|is|was|are|anymore|instead|too)$", "", text, flags=re.IGNORECASE).strip()


_ACTIVITY: Final = r"(?P<value>[a-z][a-z-]+(?: [a-z][a-z-]+){0,2}?)"
_ACTIVITY_TAIL: Final = r"(?=\s*(?:$|[,.;:!?()]|\b(?:in|on|as|too|this|these|now|lately|at|with|every|most|when|since|because|for|and|to|after|is|again|any ?more|last|whenever|of late|by|from|has|a lot|altogether|completely|entirely|until|while|so|but|or|any longer|months?|weeks?|about|here|there|again|over|if|instead|i|my|all)\b))"
_HOBBY_VALUES: Final = (
    re.compile(
        rf"\b(?:into|hooked on|taken up|took up|take up|taking up|started(?: doing| on| with| to do)?|begun|evenings with|start(?:ed)? doing|got into|getting into|do|doing|does|done with|given up|gave up|give up|giving up|quit|quitting|stopped(?: doing| with)?|dropped|added|add|enjoy|love|picked up|try(?:ing)?|tried|obsessed with|addicted to|fan of|new hobby(?: is|:)?|hobbies (?:is|are|include[s]?|also)|hobby(?: is|:)|pastime(?: is|:)|thing(?: is|:)|discovered|fallen for|fell for|dabbl\w+ in|time (?:on|doing|with)|afternoons? (?:on|doing|with)|evenings? (?:on|doing|with)|weekends? (?:on|doing|with)|sundays? (?:on|doing|with)|passion for|with|bug for|besides|practi[sc]e|practi[sc]ing|joined a|signed up for|no more|done)\s+(?:also |some |a bit of |a lot of |a little |my |really |doing |the )?{_ACTIVITY}{_ACTIVITY_TAIL}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:^|[.,;:!?]\s*|\b(?:and|now|also|that|but|so|recently|lately)\s+){_ACTIVITY}\s+(?:is|has|was|isn't|used to|keeps|'s|takes|became|and i)\b",
        re.IGNORECASE,
    ),
)
_NOT_ACTIVITY: Final = re.compile(
    r"^(?:a|an|the|my|it|that|this|work|school|new|something|nothing|what|which|i|you|they|he|she|we|to|time|one|there|most|life|coffee|smoking|drinking|meat|sugar|college|job|not|well|no|more|me|so much|dinner|lunch|everything|here|reading the|rest|besides|which|friend|free time|weekend|hobby)\b|\b(?:job|company|car|time|knee|rest|others?|hobby|friend|course|film)$",
    re.IGNORECASE,
)


def read_hobby(message: Message) -> list[Gist]:
    """What the speaker does in free time."""
    live = message.mood.live
    if not frames.SPEAKER.search(live) and "hobby" not in live.lower():
        return []
    if any(not span.first for span in message.sorted_out(Sort.NAME, Sort.MONEY, Sort.DATE, Sort.ITEM)):
        return []
    known = opened(message, message.speaker[1], ("hobby", "likes"))
    mine = [old for old in known if named(message, old)]
    if mine:
        dropped = [old for old in mine if _dropped(live, old.value)]
        if dropped:
            return [over(About(*message.speaker, old.slot, (), ()), old.value) for old in dropped]
        return [Gist(*message.speaker, mine[0].slot, mine[0].value)] if _HOBBY_CUE.search(live) else []
    if not _HOBBY_CUE.search(live):
        return []
    for pattern in _HOBBY_VALUES:
        for match in pattern.finditer(live):
            if not _NOT_ACTIVITY.search(match["value"]) and not message.mood.ended:
                cues = ("also",) if mood.ADDED.search(live) else ()
                return [Gist(*message.speaker, "hobby", match["value"], cues=cues)]
    return []


def _dropped(live: str, value: str) -> bool:
    """Whether it is this value that is over: "gave up pottery", "pottery is no hobby of mine any more"."""
    what = re.escape(value)
    before = r"(?:giv(?:en|ing)|gave) up(?: on)?|quit(?:ting)?|stopp(?:ed|ing)|dropped|done with|no more|no longer(?: do| doing| into| enjoy)?|lost (?:all )?interest in|tired of|sick of|bored (?:of|with)|gone off|went off|moved on from|(?:don't|do not|can't) (?:do|play|enjoy|practi[sc]e|go)|abandoned|sold (?:my|all) [\w ]*|retired from|hung up"
    after = r"(?:is|'s) (?:no|not|over|history|behind|out)|isn't|any ?more|no longer|has lost|bores|had to go|got too|was (?:fun|nice) while"
    return (
        re.search(
            rf"\b(?:{before}) (?:doing |my |the |with )?{what}\b|\b{what}\b[^.!?]{{0,25}}\b(?:{after})\b",
            live,
            re.IGNORECASE,
        )
        is not None
    )


_HOBBY_CUE: Final = re.compile(
    r"\b(?:free time|spare time|hobb(?:y|ies)|pastimes?|weekends?|(?:i'm|i am|been|got|gotten|getting) (?:really |so |also |totally |quite |very |deep )*into|hooked|taken up|took up|taking up|discovered|begun|begin|i'm doing|evenings with|enjoy|i (?:also |just |now |recently |finally )*(?:started|do|picked up|tried)|i've (?:also |just |recently |finally )*(?:started|added|begun|picked up|discovered|fallen)|obsessed|addicted|passion|for fun|to relax|to unwind|the side)\b",
    re.IGNORECASE,
)
