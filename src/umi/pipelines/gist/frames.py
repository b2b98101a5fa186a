"""Kinds of facts: by which words each is known, and what stands as its value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from umi.pipelines.gist.spans import Sort
from umi.pipelines.language.lexicon import PROFESSIONS

_I: Final = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class Frame:
    """One kind of fact: its slot, the words that speak of it, and what its value is."""

    slot: str
    trigger: re.Pattern[str]
    values: tuple[Sort, ...]


def _frame(slot: str, pattern: str, *values: Sort) -> Frame:
    return Frame(slot, re.compile(rf"\b(?:{pattern})\b", _I), values)


_TRADES: Final = (
    "|".join(sorted(PROFESSIONS))
    + "|accounting|sales|marketing|research|design|security|support|consulting|bookkeeping|engineering|logistics|admin|legal|work"
)
JOB: Final = _frame(
    "works_at",
    r"work(?:s|ed|ing)?(?! (?:on|from|out|trip|week|today))|workplace|employ\w*|unemployed|jobs?|jobless|payroll|payslips?|pay ?che(?:ck|que)s?|salary|salaries|wages?|pays? (?:me|my|him|her|them|the bills|the salary)|paying (?:me|my|him|her|them)|"
    r"hir(?:ed|es)|compan(?:y|ies)|firm|badge|resign\w*|notice|quit|laid off|let (?:me|him|her|them|us|\w+) go|sacked|fired|redundan\w+|retire[ds]?|retirement|poach\w*|join(?:ed|s|ing)?|first (?:day|week|month|shift)|"
    r"onboard\w*|contract with|start(?:ed|s|ing) (?:out )?(?:at|with|over at|work|a new)|gig|staff|career|earns?|on the books|on board at|made (?:me|him|her|them|\w+) an offer|offered me|badge|shifts?|clock(?:s|ed|ing)? in|"
    r"switched to|jumped ship|sign(?:ed|s)? (?:on )?with|signed on at|boss|between gigs|full[- ]time|part[- ]time|nine[- ]to[- ]five|bread|paycheque|employees?|colleagues at|desk at|office at|role at|position at|post at|job-hunting|time (?:at|with)|days (?:at|with)|plugging away|toiling|slaving|grinding|(?:"
    + _TRADES
    + r")(?: \w+)? (?:over )?(?:at|for|with)|professionally|day job|livelihood|business card|email signature|lanyard|crossed over to|recruited|headhunted|snapped (?:me|up|\w+ up)|stint",
    Sort.NAME,
)
HOME: Final = _frame(
    "lives_in",
    r"liv(?:e|es|ed|ing)|based|homes?|home town|hometown|house|flat|apartment|place in|places|digs|address|moved|moves?|moving|relocat\w*|sett?l(?:ed|ing|es)|resid\w+|town|city|keys|lease|boxes|"
    r"unpack\w*|postcode|zip code|rents?|renting|roots|landed in|goodbye|farewell|post to|mail to|parcels? (?:to|for)|packed up|upped sticks|emigrat\w+|neighbou?rhood|resettl\w+|dwell\w*|lodg\w+|camped|holed up|nomad\w*|no fixed|sublet\w*|front door|moving van|movers|whereabouts|call(?:s|ed|ing)? .* home|stays? in|staying in|swapped",
    Sort.NAME,
)
LANGUAGE: Final = _frame(
    "speaks",
    r"sp(?:eaks?|oke|oken|eaking)|fluen\w+|talks?|talking|convers\w+|learn(?:ed|t|s)?|pick(?:ed|s) up|exams?|languages?|understands?|writes? to|write|native|bilingual|trilingual|polyglot|mother tongue|chat(?:s|ted|ting)?|knows?|masters?|mastered|"
    r"reads?|repertoire|rusty|certificate|certified|course|level|passed|add|list|comfortable|gets? by|at home in|raised|grew up|phone calls?|switch(?:es)? (?:in)?to|handles?|good|lessons|brush\w*|forgot\w*|lost|dream(?:s|ed)? in|text|conversational|studied|count",
    Sort.LANGUAGE,
)
PRICE: Final = _frame(
    "costs",
    r"costs?|costing|pric\w+|pa(?:y|ys|id|ying)|charg\w+|fees?|rates?|bill\w*|sets? (?:me|us|you|them) back|is|are|was|were|been|'s|isn't|went|goes|going|gone|up|down|drop\w*|rais\w+|rises?|rose|increas\w+|"
    r"now|at|each|per|a month|month|monthly|year|yearly|for|from|to|debit\w*|invoice\w*|letter|comes? to|runs?|asks?|asking|want|wants|forking|fork out|shell out|meant|not|never|right|correct|take|takes|eats|jump\w*|climb\w*|fell|cheaper|dearer|tag|quot\w+|listed|due|put|got|more expensive|worth it|deal|set at|hik\w+|bump\w*",
    Sort.MONEY,
)
NOT_PRICE: Final = re.compile(
    r"\b(?:offered|spent|found|owe[ds]?|lent|lend|borrow\w*|won|refund\w*|saved?|saving|donat\w*|tip|tipped|deposit|lottery|raised [$€£]|budget of|insured|reward|discount of|expect\w*|pocket|at most|bank account|tax office|earn\w*|fined?|collected|made [$€£]|lunch|coupon|voucher|compar\w+)\b",
    _I,
)
PLAN: Final = _frame(
    "scheduled_at",
    r"is|are|was|were|'s|isn't|on|for|schedul\w+|reschedul\w+|calendars?|moved?|moving|postpon\w+|push\w*|forward|back|dates?|takes? place|taking place|mark|planned|book\w*|set|happens?|happening|block\w*|shift\w*|"
    r"now|instead|to|until|slipp?\w*|delay\w*|held|fix\w*|agreed|save|pencil\w*|kicks? off|starts?|falls?|meant|not|never|right|correct|invit\w+|deadline|day|will be|be|due|confirmed|down|swap\w*|settled|landed|brought|circle[d]?|at|lands|changed?",
    Sort.DATE,
)
NOT_PLAN: Final = re.compile(
    r"\b(?:birthday|last year|anniversary|nothing at all|holiday|rsvp|tickets? (?:go|went|are) on sale|register by|reply by|answer by|sign up by|remind me|since|filed)\b",
    _I,
)
SETTING: Final = _frame(
    "attr:value",
    r"is|are|was|set(?:s|ting)?|config\w*|=|chang\w+|bump\w*|switch\w*|value|at|to|run(?:s|ning)?|use[sd]?|using|now|goes|went|rais\w+|lower\w*|increas\w+|decreas\w+|drop\w*|cut|reads?|real|right|correct|meant|not|never|should|"
    r"turn\w*|flip\w*|tun\w+|adjust\w*|default\w*|reduc\w+|doubl\w+|halv\w+|mov\w+|keeps?|kept|fix\w*|pinned|stays?|been|put|went|replac\w+|update[ds]?|deployed|listening|listens|capped|dialled|dialed|crank\w*|rolled|on|'s|isn't|configured|says?|shows?|states?|stands|production|prod|live|went",
    Sort.AMOUNT,
)
NOT_SETTING: Final = re.compile(
    r"\b(?:suggest\w*|example|laptop|locally|talked|reminds?|points?|people|members|users|times|years?|estimat\w+|comments?|blocked|documented|has (?:about )?\d+|founded|in (?:19|20)\d\d)\b",
    _I,
)
TASK_SAID: Final = re.compile(
    r"\b(?:assign\w*|reassign\w*|work(?:s|ing)? on|worked on|pick(?:ed|s|ing) (?:it )?up|pick(?:ed|s|ing)? .* up|took|taken|takes?|taking|hand(?:ed|s|ing)|gave|gives?|given|pass(?:ed|es|ing)|own(?:s|er|ed|ership|ing)|has|have|got|gets|is (?:now )?with|"
    r"looks? (?:after|into|at)|looking (?:after|into|at)|handl\w+|responsib\w+|belongs?|plate|court|tackl\w+|grabb\w+|moved|swapp\w+|inherit\w*|deal(?:s|ing|t)? with|fix(?:es|ing)|on it|claimed|queue|lap|hands|takes care|taking care|care of|driving|carr(?:ies|ying)|landed|"
    r"transfer\w*|delegat\w*|is the one|ball|in charge|charge|chasing|solving|investigating|goes to|went to|tagged|signed up|volunteered|name on|shoulders|busy with|sits with|sitting with|covers|covering|leads|is (?:now |also |still )?on|is now|'s now|meant)\b",
    _I,
)
LEAD: Final = _frame(
    "attr:lead",
    r"leads?|leader|leading|leadership|led|in charge|heads?|headed|heading|manag\w+|runs?(?! on)|ran(?! on)|running(?! on)|run by|reports? to|reporting to|chair\w*|captain\w*|director|directs?|boss\w*|helm|steer\w*|supervis\w+|oversee\w*|oversaw|step(?:s|ped|ping)? (?:down|up|in|aside)|"
    r"reins|baton|top job|presid\w+|vacan\w+|wheel|calls? the shots|calling the shots|at the top|answers? to|answerable|guid\w+|coordinat\w+|spearhead\w*|takes? the lead|looks? after|looking after|responsible|heading up|in command|command\w*|driving seat|drives|hot seat|figurehead|conduct\w*|head honcho|direction|head of|leaderless|rudderless|"
    r"took over|takes over|taking over|taken over|handed|hands|handing|hand over|passed|passes|inherit\w*|replac\w+|succe\w+|appointed|appoints|promot\w+|elected|named|post|role|job|acting|interim|belongs|team lead|whose|announce\w*|gave up|position",
    Sort.NAME,
)
TASK: Final = _frame(
    "attr:assignee",
    r"assign\w*|reassign\w*|unassign\w*|work(?:s|ing)? on|worked on|pick(?:ed|s|ing) (?:it )?up|pick(?:ed|s|ing)? .* up|took|taken|takes?|taking|hand(?:ed|s|ing)?|gave|gives?|given|pass(?:ed|es|ing)?|own(?:s|er|ed|ership|ing)?|has|have|got|gets|is with|with|looks? (?:after|into|at)|"
    r"looking (?:after|into|at)|handl\w+|responsib\w+|belongs?|plate|court|tackl\w+|grabb\w+|mov\w+|swap\w*|inherit\w*|deal(?:s|ing|t)? with|fix(?:es|ing)|on it|is on|claimed|queue|lap|hands|desk|care of|care|driv\w+|carr(?:y|ies|ying)|lands?|landed|transfer\w*|delegat\w*|put .* on|is the one|ball|in charge|charge|chasing|solving|investigating|for|'s|over to|under|goes to|went to|tagged|signed up|volunteer\w*|meant|it's|name on|shoulders|busy with|sits with|sitting with|board|person|running with|drop\w*|on|baby|covers|covering|leads",
    Sort.NAME,
)
NOT_TASK: Final = re.compile(
    r"\b(?:opened|reported|reporter|filed|asked|asks|complain\w*|comment\w*|found|wrote|written|needs|reviewed|review(?:s|ing)? |closed|created|raised|mentioned|noticed|saw|founded|member|opinion|question|tea|holiday|meeting|discussed|explained|described|tested|knows|likes|curious|forwarded|subscrib\w*|watch(?:es|ing|ed)|upvoted|linked|demo\w*|presented)\b",
    _I,
)
NOT_LEAD: Final = re.compile(
    r"\b(?:founded|started it|member|opinion|question|joined|joins|visit\w*|played|plays|sings|sang|won|donat\w*|volunteers|intern|used to|asked|mailing list|budget|retired from work)\b",
    _I,
)
TOOL: Final = _frame(
    "uses",
    r"us(?:e|es|ed|ing)|part of|rel(?:y|ies|ying) on|runs? on|running on|built|tools?|toolbox|toolkit|stack|add(?:ed|s|ing)?|on top|introduc\w+|integrat\w+|power(?:s|ed)|depend\w*|under the hood|hook(?:ed|s) up|migrat\w+|remov\w+|ripped|dropped?|gone|wired|"
    r"plug(?:ged|s)|kick(?:ed|s)? out|components?|librar\w+|behind|install\w*|adopt\w*|got rid|has|got|brought in|ingredient|backbone|leans? on|leaning on|based on|work(?:s|ing)? with|dependency|dependencies|threw out|thrown out|phased out|swapped out|uninstalled|goodbye|bolted|joined|includes?|included|now|set up|connected|handles?|does the|ships? with|comes with|deployed|in use|alongside|stopped|no longer|without|moved off|put|there's|there is|threw|thrown|powers?",
    Sort.NAME,
)
NOT_TOOL: Final = re.compile(
    r"\b(?:outage|talk on|decided against|looked at|evaluat\w*|consider\w*|redesign|maintainer|meeting|free of charge|swear by|neighbou?rs|conference|compar\w+|license|licence|price)\b",
    _I,
)
HOBBY: Final = _frame(
    "hobby",
    r"free time|spare time|hobb(?:y|ies)|weekends?|evenings?|into|hooked on|taken up|took up|takes up|started|start|giv(?:e|en|ing) up|gave up|quit|stopp?\w*|pastimes?|passion\w*|enjoy\w*|love|loving|addicted|obsess\w*|pick(?:ed|ing) up|doing|do|dabbl\w+|try\w*|fun|relax\w*|unwind\w*|new|add(?:ed)?|bug|joined|done with|dropped|any ?more|no longer|thing|keeps? me|spend|sunday\w*|saturday\w*|after work|lately",
)
CHOICE: Final = _frame("", r"(?!)x")
CLEAR: Final = re.compile(  # without any of these, "joined", "moved to" and "switched to" may be about anything
    r"\b(?:work\w*|employ\w*|unemployed|jobs?|payroll|pay\w*|bills|employee|salary|compan\w+|firm|badge|resign\w*|notice|quit|laid off|fired|sacked|retire\w*|poach\w*|hire[ds]?|first (?:day|week|month|shift)|contract|gig|staff|career|colleagues?|boss|"
    r"liv(?:e|es|ed|ing)|based|homes?|house|flat|apartment|address|relocat\w*|settl\w*|resid\w+|town|city|keys|lease|boxes|unpack\w*|postcode|rent\w*|roots|farewell|goodbye|start(?:ed|s|ing)|no longer|not at|any ?more|for good|sign(?:ed)?|offer\w*|onboard\w*|headhunted|recruited|office|desk|jumped ship|earns?|stint|moving van|movers|neighbou?rhood|emigrat\w+|never)\b",
    _I,
)
PERSON_FRAMES: Final = (JOB, HOME)


PERSON_VERB: Final = re.compile(
    r"^(?:'s (?:been |now |still |just |back |finally |no longer |not |got |moved|left|joined|quit|at |with |in |based|employ|home|house|flat|job|work|address|company|firm|post|new|town|city|employer|place|boss|life|current)|, who\b| (?:who|too|finally|is|was|has|have|had|isn't|wasn't|hasn't|works?|worked|working|lives?|lived|living|moved|moves|"
    r"left|leaves|joined|joins|quit|quits|started|starts|switched|switches|got|gets|retired|retires|resigned|no longer|doesn't|does|did|didn't|never|earns|makes|resides|relocated|settled|stays|stayed|rents|bought|gave|packed|"
    r"accepted|took|takes|handed|jumped|used|(?:now|just|recently|finally|actually|really|apparently|currently|still|already) \w+|can|will|told|went|walked|lost|ended|changed|decided|signed|traded|swapped|begins|began|calls|called|upped|spends|collects|draws|landed|found|sold|hasn't|won't|clocks|said|says|reports|has|and (?:his|her|their))\b)",
    _I,
)
PLACE_BEFORE: Final = re.compile(
    r"\b(?:at|in|with|for|by|to|into|made|joined|joins|join|joining|near|leave|leaving|left|quit|than|not|over|called|named|is|are|it's|be|now|meant|of|from|via|as|hello|goodbye|was|off|never|chose|onto|inside|outside|around|behind|company|firm|employer|city|town|put|say|said|wrote|typed|actually|against|instead|and|or|but|swapped|traded|:|=|->|→|\()\s*(?:the )?[\"'“‘(]*$",
    _I,
)
GIVES_WORK: Final = re.compile(
    r"^[\"'”’)]*,? (?:is paying|pays|paid|made me|hired|hires|employs|employed|took me|takes me|let me|let \w+ go|laid|fired|sacked|snapped|offered|gave me|has me|signs|signed|poached|recruited|headhunted|wanted me|brought me|got me|is where|is (?:my|the|our|his|her|their|[a-z]+'s) (?:new |current |real |right |old )*(?:employer|company|firm|workplace|home|town|city|place|one|address|base|boss|job|payer|name)|it is|is right|is correct|closed|went|shut|is history|is (?:his|her|their)|is now (?:my|where)|has (?:hired|employed|replaced|taken)|and i|cut|ended)\b",
    _I,
)
SPEAKER: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|our|us|myself)\b", _I)
SPEAKER_JOB: Final = re.compile(r"\b(?:me|my|i|mine|we|i'm|i've)\b", _I)
