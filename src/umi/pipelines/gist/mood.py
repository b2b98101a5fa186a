"""Which sentences of a message claim something, for whom, and what becomes of what was known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from umi.pipelines.gist.spans import Sort, Span
from umi.pipelines.language.tokens import sentences

_I: Final = re.IGNORECASE
_POLITE: Final = r"(?:^|[,;:.!?—–-]\s*|\b(?:please|pls|you|to|should|so|and|just|kindly|then|better|could|can|also|let's|maybe|really|must|now)\s+)"
FORGET: Final = re.compile(
    rf"{_POLITE}(?:forget|delete|erase|wipe|unlearn|purge|discard|scrub|un-remember|disregard|strike|redact|expunge|lose|ditch|bin|ignore|clear|scratch|scrap|unsave|retract|withdraw|drop|remove|get rid of|"
    r"throw (?:away|out)|take (?:out|back)|let go of)\b"
    rf"|{_POLITE}(?:do not|don't|dont|never|not|stop)\s+(?:keep|remember|store|save|hold|retain|record|note|memori[sz]e|log|mention|bring up|use|repeat|know|track|hang on)\w*"
    r"|\b(?:rather|prefer|like|want|wish|appreciate|need|asked?|love)\b[^.!?]{0,40}\b(?:didn't|did not|not|never|n't|stopp?e?d?|forg[eo]t|delete[ds]?|erased?|removed?|wiped?|gone|dropped?)\b"
    r"[^.!?]{0,20}\b(?:keep|kept|know|knew|remember\w*|stor\w+|record|memory|that|it|about|from|what|have)\b"
    r"|\b(?:shouldn't|should not|should never|wasn't supposed to|not supposed to|wish i hadn't|never should|mustn't)\b[^.!?]{0,30}\b(?:told|said|shared|mentioned|keep|know|have|remember|store|be stored)\b"
    r"|\b(?:don't|do not) want you to\b|\brather you (?:didn't|forgot|not)\b|\bwant you to (?:forget|erase|delete|drop|remove)\b|\boff the record\b|\bfrom your (?:memory|notes|records?|mind|files?)\b|\bout of your (?:memory|notes|records?|head)\b|\bin your (?:memory|notes)\b",
    _I,
)
_NOT_FORGET: Final = re.compile(
    r"\b(?:i|we|he|she|they|i'd|didn't|never|won't|can't|almost|don't(?! keep| remember| store| save| hold| retain| record| note| memor| log))\s+(?:forget|forgot|lose|drop|remove)\b"
    r"|\bdon't forget\b|\bdon't let me forget\b|\bforget about (?:it )?(?:.* being|.* as)\b",
    _I,
)
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
_REAL: Final = re.compile(
    r"\bif (?:any(?:body|one)|some(?:body|one)|you(?:'re)?|people) (?:asks?|needs?|wants?|wondering|wonders?|are wondering|ask|need|care|cares|must know|were wondering)\b[^,.]*|"
    r"\bi(?:'d| would) (?:say|call|describe|guess)\b|\bthat would be\b|\bit would be\b|\bin case\b|\bi couldn't\b|\bi(?:'ll)? (?:guess|bet|wonder why|suppose)\b|\b(?:i|we) (?:mis)?thought (?:it|that|of it)\b|"
    r"\bi(?:'ve)? tried\b|\bin case\b[^,.]*|\bsaid (?:no )?earlier\b|\bi was (?:joking|kidding)\b|\bjust joking\b|\boffered me (?:a|the) (?:job|position|role|place)[^.]*(?:signed|accepted|took|said yes)|"
    r"\bmade (?:me|him|her|them|\w+) an offer\b|\bas an? offer\b|\bi thought\b|\bonce (?:more|again|and for all)\b|\bat once\b|\ball at once\b|\bmay have (?:told|said|given)\b|\bi may have\b|\bi might have (?:told|said|given|written|put)\b|"
    r"\bafter (?:all |many |several )?(?:\w+ )?interviews?\b|\bwhen it comes to\b|\bwhat (?:they|he|she) wants?\b|\bif \w+ is (?:to be believed|right|correct)\b|\bif i (?:trust|believe|may believe|can believe|can trust) \w+|\bwant to (?:correct|fix|clarify|add|update|let you know|make sure)\b|\bwanted to (?:correct|fix|clarify|add|update|let you know|tell you|say|mention|share)\b|\bwould you\b|\bcould you\b|\bcan you\b|\bformer(?=ly)|"
    r"\bwill be\b|\bthe former\b|\bin the past (?:few|couple|week|days?)\b",
    _I,
)
_REPORTING: Final = (
    r"says|said|thinks|thought|claims|claimed|believes|believed|reckons|reckoned|swears|swore|insists|insisted|bets|writes|wrote|tells|told|mentions|mentioned|notes|noted|states|"
    r"stated|argues|argued|maintains|maintained|figures|assumes|assumed|suspects|suspected|remembers|recalls|announced|reports|reported|posted|messaged|emailed|texted|lists|"
    r"listed|heard|hears|keeps|kept|guesses|guessed|understands|understood|replied|answered|confirms|confirmed|asserts|asserted|told|shows|showed|pegs|pegged|quoted|quotes|pointed|"
    r"gives|vows|vowed|declares|declared|promises|promised|mutter\w*|whispered|shouted|let slip|let it slip|wants me to believe|supposes|supposed|contends|contended|alleges|alleged|dead set|would bet|would swear"
)
_SOURCE_AFTER: Final = re.compile(
    rf"^ (?:is to be believed|is right,|is correct,|i have it|i hear\b|i heard\b)|^(?:,? (?:on the other hand|though|meanwhile|however|from [\w ]+|at [\w ]+|of all people|for one|over at [\w ]+),?)?,?\s+(?:(?:is|was|'s|seems|sounded|sounds|seemed|looks) (?:\w+ )?"
    rf"(?:sure|certain|convinced|positive|adamant|confident|saying|telling|claiming|insisting|of the opinion|under the impression|told|swearing|dead set)|(?:has |had |have |'s )?(?:also |just |still |always |once |already |now |even |firmly |only |recently |clearly |definitely |really |strongly )?(?:{_REPORTING})\b|"
    rf"(?:has|had|have|puts|put|got) (?:[\w'-]+ ){{0,6}}?(?:down as|down for|written|listed|marked|noted|on record|down in|in (?:the|his|her|their|a) (?:calendar|diary|list|notes?|planner|files?|books?|spreadsheet|sheet|agenda|system))\b)|"
    rf"^'s (?:[\w-]+ ){{0,2}}(?:notes?|list|calendar|address book|guest list|records?|spreadsheet|sheet|version|opinion|view|books?|diary|files?|word|account|understanding|email|message|memory|text|claim|theory|money|story|roster|overview|table|slides?|contacts?|phone|planner|board|wiki|document|doc|comment|reading|recollection|take|info|information|report|summary|copy|directory)\b",
    _I,
)
_SOURCE_BEFORE: Final = re.compile(
    r"(?:according to|(?:if )?you ask|asking|ask|heard (?:it )?from|hear (?:it )?from|heard|hear|going by|per|word from|(?:told|said|claimed|mentioned|reported|confirmed|insisted|stated|written) (?:\w+ )?by|as per|from what|trust|believe|says|in|on|by|to hear|hearing|took it from|via|quoting|via|told me|depends on|comes from)\s+$",
    _I,
)
_SOURCE_STRICT: Final = re.compile(
    r"(?:according to|you ask|asking|going by|\bper|word from|as per|from what|to hear|via|(?:told|said|claimed|mentioned|reported|confirmed|insisted|stated) by|heard (?:it )?from|hear (?:it )?from)\s+$",
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
ADDED: Final = re.compile(
    r"\b(?:also|as well|too|add(?:ed|s|ing)?|besides|on top of|next to|in addition|another|additionally|plus|extra|joined|alongside|hooked|taken up|took up|picked up|learn(?:ed|t)|new|latest|now|started|introduced|both)\b",
    _I,
)
_OLD_BEFORE: Final = re.compile(
    r"(?:\bfrom|\bleft|\bleave|\bleaving|\bnot|\bnever(?: [\w']+){0,3}|n't(?: [\w']+){0,4}|\bno longer(?: [\w']+){0,3}|instead of|rather than|used to be|used to (?:live|work)|\bi (?:\w+ )?(?:wrote|typed|put|said|thought|noted|mentioned|claimed|listed|entered)|told you|gave you|\bout of|goodbye|\bbye|farewell(?: to)?|"
    r"(?:i'm|am|got|get) over|\b(?:gone|went) off|\bquit|replac(?:ed|es|ing)|\bthan|forget about|\bwas(?: (?:at|on|in|with|still|the|only|never|originally|previously|set to))*|\bwere|ditch(?:ed)?|dropp?(?:ed)?|resign(?:ed)? from|\bold|previously|formerly|taken|relieved|succeed(?:s|ed|ing)?|"
    r"stopped(?: [\w']+){0,2}|instead of(?: [\w']+){0,2}|away from|done with|up on|tired of|fed up with|sick of|moved on from|handed in (?:my|his|her|their) (?:notice|badge) at|days at|time at|chapter (?:at|in)|last day at|life in|unlike|before that|no more|swapp?ed|traded|behind|scrapped|(?:gave|given|giving|gives) up(?: on)?)"
    r"\s*(?:at |in |with |for |by |to |the |being |as |of |on |that |it was |it's |is |was )*[\"'“‘(]*$",
    _I,
)
_OLD_AFTER: Final = re.compile(
    r"^[\"'”’)]*,?\s*(?:(?:is|was|are|were|has|had|'s)\s*)?(?:n't|not\b(?! only)|never|no longer|earlier|swamped|handed|hands|handing|stepp|steps|made way|makes way|gave|gives|giving|passed|passes|dropped|drops|quit|left\b|leaves|let (?:me|him|her|them|us|\w+ go)|closed|before\b|any ?more|doesn't|does not|didn't|"
    r"used to|out\b|off\b|has no|wrong|the wrong|history|over(?=[.,;!]|$| now| and)|retire|resign|moved on|rotat|bow|gone\b|too (?:busy|much)|can't|couldn't|dethroned|replaced by|was a (?:typo|mistake)|by mistake|in error|that was|is on (?:leave|holiday)|went on leave|burn|overload|was (?:only|just))|"
    r"^\s*(?:to|->|→|=>|for)\s+(?:the )?[\"'“]?(?-i:[A-Z$€£\d])",
)
_NEW_BEFORE: Final = re.compile(
    r"(?:\bto|\bnow|\bjoin(?:ed|s|ing)?|it's|\bit is|\bis|\bare|\bat|\bwith|\bmeant|\bbe|\bnew|=|:|->|→|=>|\bbecame|\bbecome|\bchose|\bby|\bfor|\bin|hello|\bread|\bon|\bgot|\bof|\btry|\bone:?)\s*(?:actually |now |really |already |at |in |with |the |to |currently |instead |been |set to |really )*[\"'“‘(]*$",
    _I,
)
_NEW_AFTER: Final = re.compile(
    r"^[\"'”’)]*,?\s*(?:it is|is right|is correct|instead(?! of)|now\b|from now on|took over|takes over|is taking|took|inherits|inherited|is now|is the new|replaces|replaced|has replaced|will|is paying|pays|made me|hired|snapped|has taken|steps in|stepped in|stepping in|has it|owns|picked|'s (?:now|turn))",
    _I,
)


_GIVES: Final = re.compile(
    r"\b(?:comes?|came|badge|paid|salary|wages?|money|lanyard|paycheque|paycheck|paychecks|contract|mail|offer) (?:\w+ ){0,2}from $",
    _I,
)


@dataclass(frozen=True, slots=True)
class Mood:
    """What a message claims: the half-open ranges of its real sentences, their text, whether it asks to forget, and who is quoted."""

    ranges: tuple[tuple[int, int], ...]
    live: str
    forget: bool
    source: Span | None

    def holds(self, span: Span) -> bool:
        """Whether a span stands in a sentence that claims something."""
        return any(start <= span.start < end for start, end in self.ranges)

    @property
    def changed(self) -> bool:
        """Whether it says that the world has changed."""
        return bool(CHANGED.search(self.live))

    @property
    def corrected(self) -> bool:
        """Whether it takes back what was said."""
        return bool(CORRECTED.search(self.live))

    @property
    def ended(self) -> bool:
        """Whether it says that something is over."""
        return bool(ENDED.search(self.live))


def read(text: str, spans: Sequence[Span]) -> Mood:
    """The mood of a short message."""
    ranges: list[tuple[int, int]] = []
    forget = False
    for start, end in sentences(text):
        sentence = text[start:end].replace("’", "'")
        if FORGET.search(sentence) and not _NOT_FORGET.search(sentence):
            forget = True
            ranges.append((start, end))
        elif not _asks(sentence) and not UNREAL.search(_REAL.sub(" ", sentence)):
            ranges.append((start, end))
    live = " ".join(text[start:end] for start, end in ranges).replace("’", "'")
    return Mood(tuple(ranges), live, forget, _source(spans))


def _asks(sentence: str) -> bool:
    """Whether a sentence is a question; "My favourite café? Luna." is none."""
    words = sentence.lower().split()
    return sentence.rstrip("\"'”) ").endswith("?") and not (len(words) <= 5 and words[0] in {"my", "our"})


def _source(spans: Sequence[Span]) -> Span | None:
    for span in spans:
        if span.sort is Sort.NAME and _SOURCE_STRICT.search(span.before):
            return span
    for span in spans:
        if span.sort is Sort.NAME and _SOURCE_AFTER.search(span.after):
            return span
    return None


_CALLED_BEFORE: Final = re.compile(
    r"(?:^|[.!…]\s*|(?<!boss)(?<!head)(?<!lead)(?<!owner)(?<!assignee)(?<!company)(?<!employer)(?<!firm)(?<!one),\s*|\b(?:hey|hi|hello|thanks|thank you|wow|whoa|woah|yeah|yep|yes|no|sure|congrats|oh|oof|aw|ok|okay|so much|dear|right|agree|welcome|cool|great|good luck|well done|nice work|way to go|bye|man|prob|problem|worries)\s*)$",
    _I,
)


def is_called(span: Span) -> bool:
    """Whether a name only calls somebody: "Thanks, Jon!"."""
    if span.sort is not Sort.NAME or span.after[:1] not in {",", "!", ".", "?", ""}:
        return False
    return bool(_CALLED_BEFORE.search(span.before)) and not re.match(r", (?:who|not|which|that)\b", span.after)


def age_of(span: Span) -> int:
    """Below 0 for a value that is said to be over or wrong, above 0 for one that is said to hold, 0 without a sign."""
    if _GIVES.search(span.before):
        return 1
    old = bool(_OLD_BEFORE.search(span.before)) + bool(_OLD_AFTER.search(span.after))
    new = bool(_NEW_BEFORE.search(span.before)) + bool(_NEW_AFTER.search(span.after))
    return new - 2 * old
