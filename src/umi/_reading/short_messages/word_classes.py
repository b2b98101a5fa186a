"""Word lists and patterns for finding spans (names, things, values) in short messages."""

from __future__ import annotations

import re
from typing import Final

from umi._reading.grammar.lexicon import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    NAME_STOPS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    words,
)

_LEMMAS: Final = words(  # base forms of verbs; `INFLECTED` has their other forms
    "cost charge go move get take run lead use sit set need want have do come stay remain start begin end happen become change switch rise "
    "drop fall jump climb increase decrease belong report work live make give hand pass own hold keep look sound seem feel require include "
    "contain meet win lose say tell ask think know see find put bring call pay leave join speak handle manage head chair steer cancel "
    "postpone reschedule push shift slip swap land sell buy expire close open renew read mean confuse depend rely support serve cover "
    "replace raise lower cut bump update deploy add remove fail pass stop finish vanish disappear exist matter annoy help eat grow shrink "
    "double halve stand step fill suffer break wake appear arrive collide clash date grab inherit own claim drive love hate like enjoy "
    "prefer play wear visit stay clock earn handed migrate ship cease resume pick quote list bill debit exceed equal default point "
    "carry reside configure assign bear follow describe welcome expect await refuse appoint elect promote relocate employ hire settle confirm "
    "total run rest rise sink tumble skyrocket creep slide inch soar crash load restart revert answer list state show prove"
)


def _forms(lemma: str) -> tuple[str, ...]:
    """Third person, past, and past with a doubled last letter.

    Some of these are no words, which does no harm in a list.
    """
    third = lemma + "es" if lemma.endswith(("s", "sh", "ch", "x", "o")) else lemma + "s"
    if lemma.endswith("y") and lemma[-2] not in "aeiou":
        third = lemma[:-1] + "ies"
    past = lemma + "d" if lemma.endswith("e") else lemma[:-1] + "ied" if third.endswith("ies") else lemma + "ed"
    doubled = lemma + lemma[-1] + "ed"
    return third, past, doubled


# A finite verb ends a noun phrase.
INFLECTED: Final = frozenset(form for lemma in _LEMMAS for form in _forms(lemma)) | words(
    "went gone got gotten took taken ran led sat came stayed began became rose fell fallen gave given held kept felt met won lost said told "
    "asked thought knew seen saw found put brought paid left joined spoke spoken sold bought meant confused cut read stood broke broken "
    "woke sank drove made lies lay amounts applies set been has had does did was were is are isn't aren't wasn't weren't doesn't didn't hasn't won't can't"
)
# Words that end a noun phrase; a few words listed as adverbs are adjectives as well, and do not.
NOUN_BREAKS: Final = (
    PRONOUNS
    | CONJUNCTIONS
    | AUXILIARIES
    | PREPOSITIONS
    | ARTICLES
    | POSSESSIVES
    | (ADVERBS - words("great good even sure pretty long once again"))
    | words(
        "not stop payable never again then there here today tomorrow yesterday right because since ago each every later earlier altogether forward entirely completely alone permanently temporarily somewhere anyway though please twice where who which what when how whose whom why wrong right isn wasn hasn doesn don aren didn haven atm rn tho lol pls plz btw thx tbh"
    )
)
# Nouns that name a kind of fact ("price", "lead") or a record of it, never the thing that the fact is about.
FACT_NOUNS: Final = words(
    "leadership captaincy price prices cost costs fee fees rate rates charge charges date day days time slot head lead leader boss manager chair captain director "
    "assignee owner value values config configuration setting settings number name names note notes bit fact information info detail "
    "details list toolbox stack tools tool languages language rest end start top moment way deal reins record records entry memory thing "
    "job employer company firm workplace city town home address place person responsibility bill calendar schedule board sheet "
    "announcement invitation post role position baton helm dependency dependencies components component amount figure change update "
    "first last latest same other others best one ones week weekend month year morning evening afternoon summer spring autumn winter quarter "
    "sprint meeting's part line row file wrong news word heads"
)
# Ordinary words. Capitalised at the beginning of a sentence or in a title, they are no names.
COMMON: Final = (
    NAME_STOPS
    | _LEMMAS
    | words(
        "send sending after again ago all also although among any apart apparently ask asked at away back bad because before being better between both bring but by "
        "call came can change changed cancel check clearly close come coming confirmed correct correcting could deployed did didn't disregard do "
        "does done don't double drop dropped due early effective either else end enough erase every except fact fair fantastic far farewell few fifteen finally "
        "fine first fixed folks for forget fresh friday from full funny fyi general get getting gone good goodbye got gotta great guys had half hang happens has have "
        "he heads heard hello help her here hey hi his hold home honestly how however huge i i'd i'll i'm i've if ignore in "
        "indeed instead into is isn't it its just keep kindly know last late later least less let letter life like little long look looks lost lots lovely "
        "made make many mark may maybe me mea meant meet met might mind mine minor mistake mixed more morning most move moved much my myself need neither never new "
        "next nice no nobody none nope not note noted nothing now of off oh ok okay old on once one only oops or other our out over own "
        "perhaps person phew please plot plus point poor post pretty previously probably put question quick quickly quite rather read real really regarding remember remind remove rest "
        "right same saw say saying schedule scratch see seems sent set several she short should since small so some somebody someone something soon "
        "sorry spoke start started still stop strike such sure switched take taken talk talked tell thank thanks that that's the their them then there these they "
        "this those though thought thrilled through tick time tiny to today together told tomorrow tonight too took total true try turns twist two typo "
        "under unfortunately unless until up update updated updates use used usually very wait was we we're we've week welcome well went were what whatever when where which "
        "while who whole why will wipe with without word work works would wow wrong year years yes yesterday yet you your yup "
        "add added adding afraid argh anyway anyways anybody anything best big boss bosses both bummer busy careful chat colleagues company config congrats contract correction date day dear "
        "delete deleting dinner discard easy effectively embarrassing employer employment everybody everyone everything exciting fingers flat friends fun good-bye guess guest happy headline "
        "hopefully house hr i'm important internally invoice it's job keys let's lunch mail man meeting messed minutes misread misspoke moving mum music "
        "names nevermind news number officially our ours overheard payday people plan plans price prices promotion quit rent reorg rescheduled reshuffle retract rumour rumor "
        "scheduling separately server settings shame signed site slack slight somehow speaking staff standup status stupid summer surprise team technically ticket tickets "
        "today's tools typing ugh unassign uh um unbelievable until upshot usual value various version wanted weekend what's who's whoops winter within wondering work-wise workwise yay years yours "
        "been bear bumped backtracking brilliant budget calendar cancelled canceled caught caution charge charged cheaper clarification clarifying clerical close costs cutting details digging "
        "doctor effective error farewell feel feels fees figured filing finance flagging follow following forgot forgetting founder getting giving glancing hiking hold-up imagine infra interesting internal "
        "jumping learned leaving living looking major management mentioning miscommunication mixing monday's months must nearly notes nowadays offering office oddly online ops originally outside owner owing "
        "packed paid paying per picture planning production profile promoted purge quietly ran ran reason receipts recently redacted regards released relocated removed renewal replied report retired revised running "
        "scrap scrub secretly seriously shifting sign silly simply sitting slip slipped small-talk staging stay staying struck submitting sudden suddenly swap swapped tagging taking telling terrible that'd that'll there's "
        "they're they've thing things thursday's turned typically understand unlike until use wasn't watch we'd we'll weather weird weirdly whether wise wish wonder world worth would writing yep you're "
        "reminder assignee sign-off meh sooo soo resident residents standup recap summary headsup heads-up erratum licences licenses license licence removed done gone dunno whats whos wheres whens hows dont im ive "
        "quick-fire psa tldr ps fyi eta asap imho btw omg lol ok okay okey hmm hm ah aha eh huh yo sup welp gosh geez yikes phew blimey crikey hooray hurrah cheers ta folks team gang everyone colleagues neighbours friends "
        "customers visitors parents kids children students teachers nobody's someone's occupation address city town guest contact attendee attendees participants status stack hobbies greetings "
        "management reception security support sales marketing engineering accounting legal production staging weather traffic breakfast lunch dinner coffee tea music sport sports parcels letters mail post visiting staying writing driving helped watched "
        "unpacking packed moved sold bought rented renting gave handed passed turned quit left fired sacked retired hired poached started starting joined joining switched swapped traded changed changing raised lowered bumped deployed merged rolled dialled cranked "
        "checked looked asked told heard learned learnt found met saw spoke talked chatted emailed phoned rang called wrote copied copy copying checking meeting lost losing missing nothing something everything anything half most many several few "
        "two three four five six seven eight nine ten once twice again later earlier soon afterwards meanwhile otherwise besides anyway instead rather whether since until till before after during despite though although because unless "
        "january february monday tuesday wednesday thursday friday saturday sunday september october november december july"
    )
)
LEVELS: Final = words(  # values of settings that are words
    "debug info warning error trace notice critical on off true false enabled disabled none unlimited verbose silent strict never always"
)
ASKED_VERBS: Final = words(  # verbs that follow the thing in a question: "When does the party take place?"
    "take cost stand reside earn happen go start work live run use rely depend have need set belong report come fall land get kick begin stay charge be require "
    "consist include currently now supposed scheduled planned assigned configured set built made located due"
)
MONEY: Final = re.compile(  # the patterns below find spans of one sort each
    r"[$€£¥]\s?\d+(?:,\d{3})*(?:\.\d+)?k?|\b\d+(?:,\d{3})*(?:\.\d+)?\s?(?:euros?|dollars?|pounds?|bucks|quid|francs|kroner|eur|usd|gbp|chf)\b",
    re.IGNORECASE,
)
_MONTH_NAME: Final = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_YEAR: Final = r"(?:,? (?:19|20)\d{2}\b)?"
DATE: Final = re.compile(
    rf"(?:\bthe )?\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH_NAME}\b{_YEAR}|\b{_MONTH_NAME} \d{{1,2}}(?:st|nd|rd|th)?\b{_YEAR}|\b\d{{4}}-\d{{2}}-\d{{2}}\b",
    re.IGNORECASE,
)
AMOUNT: Final = re.compile(
    r"(?<![\w$€£.-])\d+(?:,\d{3})*(?:\.\d+)?(?:\s?(?:seconds?|secs?|ms|milliseconds?|minutes?|mins?|hours?|hrs?|days?|[kmgt]b|[kmg]ib|%|percent|px|retries|times|attempts|s)\b)?"
    r"(?!\w|[-/:.]\d)",
    re.IGNORECASE,
)
MEASURE: Final = re.compile(  # an amount with its unit
    r"(?<![\w$€£.-])\d+(?:,\d{3})*(?:\.\d+)?\s?(?:seconds?|secs?|ms|milliseconds?|minutes?|mins?|hours?|hrs?|[kmgt]b|[kmg]ib|%|percent|px|retries|attempts|s)\b",
    re.IGNORECASE,
)
ITEM: Final = re.compile(  # "PAY-482", "ticket 42", "#42"
    r"\b[A-Z][A-Z0-9]+-\d+\b|\b(?:ticket|issue|bug|task|order|invoice|pr|case|story|card|job|incident|request)\s+(?:no\.? |number )?#?\d+\b|(?<!\w)#\d+\b",
    re.IGNORECASE,
)
CHOICE: Final = re.compile(  # "my favourite café", "our usual supplier"
    r"\b(my|our|a|any|the(?: wrong)?)\s+(?:(?:new|current|old|absolute|all-time|personal|very|one|real|latest|number one|actual|only|then|former|own)\s+){0,2}"
    r"(favou?rite|preferred|go-to|usual|regular|standard|default)\s+"
    r"((?:[\w-]+\s?){1,3})",
    re.IGNORECASE,
)
