"""Patterns for words of change, correction, end, addition, forgetting, unreality: features of the linear models.

`asks_to_forget` is also used on its own, where no model found a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from umi._reading.grammar.tokens import sentences

_I: Final = re.IGNORECASE
_POLITE: Final = (  # what may stand before an imperative: punctuation, "please", "could you", "I want you to"
    r"(?:^|[,;:.!?—–]\s*|(?<!\w)-\s*|\b(?:please|pls|you|should|so|and|just|kindly|then|better|could|can|also|let's|maybe|really|must|now)\s+"
    r"|\b(?:you|like|want|wish|need|ask|asked|have|help|me|best|good|time|prefer|love|permission|request|instructed|us|how|enough|able|order|obliged|free)\s+to\s+)"
)
# Verbs of wishing.
_WISH: Final = r"\b(?:rather|prefer|(?<!something )(?<!, )like|want|wish|appreciate|need|asked?|love)\b"
# Requests to forget something, as imperatives, as wishes, or in set phrases ("off the record").
FORGET: Final = re.compile(
    rf"{_POLITE}(?:forget|delete|erase|wipe|unlearn|purge|discard|scrub|un-remember|disregard|strike|redact|expunge|lose|ditch|bin|ignore|clear(?= (?:that|this|it|the|out|all|any|what|away|up|every|whatever|your (?:memory|notes)|\S+ from|my (?!mind|head)))|scratch|scrap|unsave|retract|withdraw|drop|remove|get rid of|"
    r"throw (?:away|out)|take (?:out|back)|let go of)\b"
    rf"|{_POLITE}(?:do not|don't|dont|never|not|stop)\s+(?:keep|remember|store|save|hold|retain|record|note|memori[sz]e|log|mention|bring up|use|repeat|know|track|hang on)\w*"
    rf"|{_WISH}[^.!?]{{0,40}}\b(?:didn't|did not|not|never|n't|stopp?e?d?)\b[^.!?]{{0,20}}\b(?:keep|kept|know|knew|remember\w*|stor\w+|record|memory)\b"
    rf"|{_WISH}[^.!?]{{0,40}}\b(?:forg[eo]t|delete[ds]?|erased?|removed?|wiped?|gone|dropped?)\b"
    r"[^.!?]{0,20}\b(?:keep|kept|know|knew|remember\w*|stor\w+|record|memory|that|it|about|from|what|have)\b"
    r"|\b(?:shouldn't|should not|should never|wasn't supposed to|not supposed to|wish i hadn't|never should|mustn't)\b[^.!?]{0,30}\b(?:told|said|shared|mentioned|keep|know|have|remember|store|be stored)\b"
    r"|\b(?:don't|do not) want you to\b|\brather you (?:didn't|forgot|not)\b|\bwant you to (?:forget|erase|delete|drop|remove)\b|\bas (?:if|though) i(?:'d| had)? never\b|\bpretend (?:that )?i(?:'d| had)? never\b|\boff the record\b|\bfrom your (?:memory|notes|records?|mind|files?)\b|\bout of your (?:memory|notes|records?|head)\b|\bin your (?:memory|notes)\b",
    _I,
)
# Phrases that `FORGET` matches, but that ask for nothing ("don't let me forget", "to lose weight").
_NOT_FORGET: Final = re.compile(
    r"\b(?:i|we|he|she|they) (?:\w+ )?(?:should|must|could|might|better|really|just)\s+(?:forget|lose|drop|remove|ditch|bin|ignore|clear|scrap)\b|"
    r"\b(?:i|we|he|she|they|i'd|didn't|never|won't|can't|almost|don't(?! keep| remember| store| save| hold| retain| record| note| memor| log))\s+(?:forget|forgot|lose|drop|remove)\b"
    r"|\bdon't forget\b|\bdon't let me forget\b|\bforget about (?:it )?(?:.* being|.* as)\b"
    r"|\byou never know\b|\bdon't want to (?:lose|forget|drop)\b|\bif (?:you|i|we|they) (?:lose|drop|forget)\b|\bto (?:lose|drop|get rid of|remove|wipe) (?:some|old|stubborn|an?|weight)\b"
    r"|\bdrop (?:the|your|me|us)\b[^.!?]{0,20}\bhere\b"
    # What somebody does, or was made to do: "I really do not know", "it forced me to let go of it".
    r"|\b(?:i|we|he|she|they|it) (?:really|honestly|actually|also|still|just|simply|probably) (?:do not|don't|dont|never) "
    r"|\b(?:\w+ed|made|told|taught|got|led) (?:me|us|him|her|them) to (?:forget|delete|erase|lose|ditch|ignore|drop|remove|get rid|throw|take|let go)\b",
    _I,
)
# "the pull request to remove the port" tells of a proposal.
_PROPOSED: Final = re.compile(
    r"\b(?:(?:pull|merge|feature|change) request|proposal|ticket|idea|plan|vote|motion|petition|button|option|attempt|pr|patch|branch|commit|offer|script|job) "
    r"to (?:remove|delete|drop|erase|purge|wipe)\b",
    _I,
)
# Words of wishes, plans, stories, questions and other people's talk.
UNREAL: Final = re.compile(
    r"\b(?:would|could|might|may(?! \d)|maybe|perhaps|wish(?:es|ed)?|dream(?:s|ed|t|ing)?|almost|nearly|consider(?:s|ed|ing)?|thought about|thought of|thinking (?:of|about)|thinks? about|"
    r"wants?|wanted|hop(?:es|ed|ing)|plan(?:s|ning) (?:to|on)|whether|unless|suggest(?:s|ed|ion)|propos(?:es|ed|al)|rumou?rs?|rumou?red|gossip|asked (?:me|us|him|her|them|if|about|to)|"
    r"one day|some day|someday|imagine|pretend|what if|applied|applying|apply|interviews?|interviewed|interviewing|tempted|fell through|said no|decided against|reverted|years ago|ages ago|long ago|decades ago|"
    r"as a (?:kid|child)|back in the day|back then|in the past|by comparison|compared (?:with|to)|visit(?:s|ed|ing)?|trip|holiday|vacation|weekend away|flew|flying|flight|used to (?:want|think)|if only|as if|"
    r"hypothetical(?:ly)?|theoretically|in theory|for example|as an example|joke[ds]?|joking|kidding|movie|film|documentary|novel|article|ad for|advert|podcast|the news|headline|"
    r"was born|originally|ex-|former|last year(?:'s)?|tried|tries|trying|test(?:ed|ing)|thinking|wonder(?:s|ed|ing)?|competitor|rival|"
    r"offered|offers|is hiring|are hiring|recruiters?|not sure|unsure|no idea (?:if|whether)|talk(?:s|ed)? (?:of|about)|debat(?:e|ed|ing)|discuss(?:ed|ing)?|spent|should(?! (?:be|read|have|say|now))|(?:told|asked|wants|begged|urged) \w+ to|once (?:had|dream\w*|want\w*|work\w*|live\w*|was|told|tried|thought|lived))\b|'d (?:love|like|pay|rather|prefer|move|never|be|want|go|take|hate)\b"
    r"|^(?:when|while|before|until|as soon as|by the time)\b(?! is| are| was)|\b(?:people|sources|someone|somebody|everyone|everybody|others|they|he|she|boss|manager|friends?|mother|mom|mum|father|dad|wife|husband|brother|sister|colleagues?|neighbou?rs?) (?:all |keep |keeps |just )?(?:say|says|said|thinks?|thought|believes?|claims?|claimed|told (?:me|us)|tells (?:me|us)|heard|hears?|swears?|insists?)\b|\b(?:was|were|been) told\b|\b(?:supposedly|allegedly)\b|\bi used to\b(?![^.]*\bnow\b)|\bwill\b(?! be (?:at|with|on|in|the)| cost| take place| now| from)|\bgoing to\b|\bif\b",
    _I,
)
# Phrases that contain such a word but assert all the same; they are removed before `UNREAL` is applied.
_REAL: Final = re.compile(
    r"\bif (?:any(?:body|one)|some(?:body|one)|you(?:'re)?|people) (?:asks?|needs?|wants?|wondering|wonders?|are wondering|ask|need|care|cares|must know|were wondering)\b[^,.]*|"
    r"\bi(?:'d| would) (?:say|call|describe|guess)\b|\bthat would be\b|\bit would be\b|\bin case\b|\bi couldn't\b|\bi(?:'ll)? (?:guess|bet|wonder why|suppose)\b|\b(?:i|we) (?:mis)?thought (?:it|that|of it)\b|"
    r"\bi(?:'ve)? tried\b|\bin case\b[^,.]*|\bsaid (?:no )?earlier\b|\bi was (?:joking|kidding)\b|\bjust joking\b|\boffered me (?:a|the) (?:job|position|role|place)[^.]*(?:signed|accepted|took|said yes)|"
    r"\bmade (?:me|him|her|them|\w+) an offer\b|\bas an? offer\b|\bi thought\b|\bonce (?:more|again|and for all)\b|\bat once\b|\ball at once\b|\bmay have (?:told|said|given)\b|\bi may have\b|\bi might have (?:told|said|given|written|put)\b|"
    r"\bafter (?:all |many |several )?(?:\w+ )?interviews?\b|\bwhen it comes to\b|\bwhat (?:they|he|she) wants?\b|\bif \w+ is (?:to be believed|right|correct)\b|\bif i (?:trust|believe|may believe|can believe|can trust) \w+|\bwant to (?:correct|fix|clarify|add|update|let you know|make sure)\b|\bwanted to (?:correct|fix|clarify|add|update|let you know|tell you|say|mention|share)\b|\bwould you\b|\bcould you\b|\bcan you\b|\bformer(?=ly)|"
    r"\bwill be\b|\bthe former\b|\bin the past (?:few|couple|week|days?)\b",
    _I,
)
CORRECTED: Final = re.compile(
    r"\b(?:correct(?:ion|ing|ed)|i meant|meant|wrong(?:ly)?|mistake|mistaken|mistyped|misread|misheard|misremembered|misspoke|mix(?:ed|ing|-)?[ -]?up|mixed (?:things|them|it|the|those|two)|typo|oops|whoops|"
    r"sorry|actually|my bad|confus(?:ed|ing)|turns out|scratch that|should (?:be|read|have been|say)|all along|never|in fact|to be precise|apolog\w+|slip(?: of|ped)?|autocorrect|autocomplete|inaccurate|"
    r"incorrect|not true|isn't true|wasn't true|got (?:that|it|this) (?:wrong|backwards|muddled)|muddled|error|strike that|is (?:right|correct)|the right|no,|nonsense|rubbish|rephrase|(?:was|were) off|i (?:said|wrote|noted|put|typed)|i stand corrected|stand corrected|amend|fix(?:ing)? that|bad info|blunder|messed up|forget what i said about|no wait|wait,? no|rather,|false|mislabell?ed|fat[- ]?finger\w*|outdated info|garbled|brain fart|i lied)\b|\bno, (?!not)",
    _I,
)
CHANGED: Final = re.compile(
    r"\b(?:now|nowadays|from now on|as of|as from|starting|effective|these days|anymore|any more|any longer|no longer|new|newly|just|since (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|last week|this week|today)|"
    r"today|yesterday|this (?:week|morning|month)|last (?:week|night|weekend|friday|monday)|moved|moving|left|joined|switch(?:ed|es|ing)?|swapp?(?:ed|ing)?|chang(?:ed?|es|ing)|from (?:monday|tuesday|wednesday|thursday|friday|next|this|today|tomorrow)|behind me|replac(?:ed|es|ing)|took over|tak(?:es|en|ing) over|"
    r"took on|hand(?:ed|s|ing)|pass(?:ed|es|ing)|reassign(?:ed|ing)?|transfer(?:red|s)?|went|gone|goes|dropp?(?:ed|s)|rais(?:ed|es|ing)|rose|risen|lower(?:ed|s|ing)|increas(?:ed|es|ing)|decreas(?:ed|es|ing)|"
    r"bump(?:ed|s|ing)?|cut|jump(?:ed|s)|climb(?:ed|s)|fell|fallen|hik(?:ed|es)|postpon(?:ed|es|ing)|reschedul(?:ed|es|ing)|push(?:ed|es|ing)|brought forward|shift(?:ed|s|ing)?|delay(?:ed|s)|slipp?(?:ed|s)|"
    r"instead|finally|at last|start(?:ed|s|ing)|begin(?:s|ning)?|began|first (?:day|week|month)|sett?l(?:ed|ing)|relocat(?:ed|es|ing)|quit|resign(?:ed|s)|poach(?:ed|s)|hired|promot(?:ed|ion)|step(?:ped|s|ping) (?:down|up|in|aside|into)|"
    r"used to|goodbye|hello|bye|farewell|update[ds]?|updating|tuned|adjust(?:ed|s)|set|became|become|becomes|turned (?:into|over)|gave|given|inherit(?:ed|s)|gets?|got|swamped|overtaken|overtook|landed|"
    r"back (?:to|at|with|in)|again|since then|hereby|migrat(?:ed|es|ing)|redeploy(?:ed)?|roll(?:ed|ing) out|deployed|ship(?:ped|ping)|will be|kicked off|adopted|upgrad(?:ed|es)|downgrad(?:ed|es)|"
    r"doubled|halved|more expensive|cheaper|went off|gone off|over to|dethroned|overthrown|ditched|dumped|traded|chose|chosen|pick(?:ed|s)|grabbed|took|takes|converted|latest|current(?:ly)?|henceforth|onward[s]?|"
    r"unpack(?:ed|ing)|boxes|keys|lease|onboard(?:ed|ing)|badge|notice|jumped ship|signed|announce(?:d|ment)|reorg|replacement|successor|succeed(?:ed|s))\b|->|→|=>",
    _I,
)
ENDED: Final = re.compile(
    r"\b(?:no longer|any ?more|any longer|cancel(?:l?ed|ling|led)?|call(?:ed|ing) (?:it )?off|scrapp?ed|discontinued|(?:isn't|is not|not) (?:happening|going ahead|taking place|going to happen)|won't (?:happen|be happening|take place|go ahead)|"
    r"off the (?:list|market|table|menu|calendar|books|cards|team|case|shelves)|unassigned|unowned|ownerless|leaderless|unset|remov(?:ed|ing)|delet(?:ed|ing)|dropp?(?:ed|ing)|gone|(?:is|are|'s) history|threw (?:\w+ )?out|thrown out|got rid|done with|no more|unlearned|job is open|post is open|position is open|left the|sold (?:the|my|our|his|her|their) (?:house|flat|home|apartment|place)|none now|step(?:ped|ping|s)? (?:down|aside|back|away)|gave up|giv(?:en|ing) up|gives up|"
    r"quit|resign(?:ed|s|ing)?|laid off|let (?:me|him|her|them|us|\w+) go|fired|sacked|made redundant|redundan\w+|unemployed|jobless|between (?:jobs|homes|places|flats|gigs|things)|out of (?:a job|work|the job)|retire[ds]?|retirement|"
    r"no (?:lead|leader|head|owner|assignee|home|fixed (?:address|abode)|forwarding address|job|new (?:date|job|address|place|home|lead|owner|price|employer)|employer|boss|favou?rite|preferred|usual|go-to|successor|replacement|one (?:is|has|leads|runs|knows|owns))|"
    r"nobody(?:'s| is| has| leads| runs| knows| owns| was| took| in charge| at the)|no one(?:'s| is| has| leads| runs| knows| owns| was| took)|vacan(?:t|cy)|without an? |moved (?:out|away)|left (?:[\w& ]+ )?(?:for good|with no|without|and (?:has|have|is|i|they|nobody|no))|"
    r"up for grabs|(?:doesn't|does not|don't) exist|stopp(?:ed|ing)|ceas(?:ed|es)|ended|expired|ran out|over and done|over now|is over|are over|i'm over|been over|shut down|closed down|went under|folded|bankrupt|withdrawn|withdrew|pulled|axed|killed|binned|ditched|ripped|"
    r"tak(?:e|en) (?:it )?off|took (?:it |down |off)|free again|is off|back in(?:to)? the (?:pile|pool|backlog|queue)|don't (?:really )?have|doesn't have|do not have|has no|have no|not (?:sold|available|offered|set)|isn't (?:sold|available|offered|set|on|with|at|in|a|the|my|live|running)|unavailable|"
    r"sold out|suspended|indefinitely|on ice|abandoned|nothing (?:lined|new|else|yet)|looking for (?:work|a new|something|somebody|someone)|handed in|ended up|walked (?:out|away)|packed (?:up|it in)|parted ways|last day|farewell|fell out|lost (?:interest|the|my|his|her|their)|lost|went off|gone off|sick of|tired of|fed up|(?:doesn't|does not|don't|do not|isn't|is not|can't|cannot|not|aren't|haven't|hasn't) [^.!?]{0,40}(?:any ?more|now|any longer|these days)|"
    r"forgotten|forgot|rusty|no hobby|lapsed|revoked|rescinded|voided|unsubscribed|terminated|struck|stripped|disabled|decommissioned|retiring|moved on|gone for good|nomad(?:ic)?|sabbatical|homeless|couch(?:es)?|sofas?|of no fixed|void|obsolete|defunct|taken down|left the company|put down the|orphan(?:ed)?)\b",
    _I,
)
# Words of an end that fit things rather than people.
THING_ENDS: Final = re.compile(
    r"\b(?:cancel\w*|call(?:ed|ing) (?:it )?off|scrapp?ed|discontinued|(?:isn't|is not|not) (?:happening|going ahead|taking place|sold|available|offered|set|on\b)|won't (?:happen|take place)|remov\w+|delet\w+|dropp\w+|gone|(?:is|are|'s) history|"
    r"no longer|any ?more|any longer|off the|doesn't exist|don't exist|unset|axed|threw out|thrown out|got rid|back in(?:to)? the|left|quit|job is open|binned|killed|ended|ditched|pulled|withdr\w+|sold out|unavailable|suspended|indefinitely|is off|been off|free again|on ice|abandoned|shelved|retired|"
    r"ripped|expired|stopped|quit|took (?:it )?(?:down|off)|taken (?:down|off)|not going|obsolete|deprecated|wiped|nobody|no one|vacan\w+|unassigned|without|no (?:lead|leader|head|owner|assignee|new)|has no|up for grabs|stepp\w+|gave up|given up|resign\w*|looking for|orphan\w*|leaderless|ownerless|handed in|in limbo|open again|back in the|terminated)\b",
    _I,
)
ADDED: Final = re.compile(
    r"\b(?:also|as well|too|add(?:ed|s|ing)?|besides|on top of|next to|in addition|another|additionally|plus|extra|joined|alongside|hooked|taken up|took up|picked up|learn(?:ed|t)|new|latest|now|started|introduced|both)\b",
    _I,
)
_SIGNS: Final = (
    ("changed", CHANGED),
    ("corrected", CORRECTED),
    ("ended", ENDED),
    ("thing ended", THING_ENDS),
    ("added", ADDED),
)


def signs(text: str) -> tuple[str, ...]:
    """Names of the cues found in a message, alone and in pairs, as features of the linear models."""
    found = list(_found(text.replace("’", "'")))
    return (*found, *(f"{one} {other}" for place, one in enumerate(found) for other in found[place + 1 :]))


def proposes_to_remove(text: str) -> bool:
    """Whether the text tells of a proposal to remove something, which is no request to the assistant."""
    return _PROPOSED.search(text) is not None


def asks_to_forget(text: str) -> bool:
    """Whether a sentence asks the assistant to forget something."""
    parts = _sentences(text)
    return any(FORGET.search(part) and not _NOT_FORGET.search(part) and not proposes_to_remove(part) for part in parts)


def asked_of(text: str) -> str:
    """What follows the words that ask to forget something, in the same sentence."""
    return " ".join(part[found.end() :] for part in _sentences(text) if (found := FORGET.search(part)) is not None)


def _sentences(text: str) -> list[str]:
    """The sentences, with plain apostrophes."""
    return [text[start:end].replace("’", "'") for start, end in sentences(text)]


def _found(text: str) -> Iterator[str]:
    yield from (f"c {name}" for name, pattern in _SIGNS if pattern.search(text))
    parts = _sentences(text)
    if asks_to_forget(text):
        yield "c forget"
    unreal = [part.rstrip("\"'”) ").endswith("?") or UNREAL.search(_REAL.sub(" ", part)) is not None for part in parts]
    if any(unreal):
        yield "c unreal" if all(unreal) else "c partly unreal"
