"""Sentences in plain words that rules read, and what each of them states: one value, another in its place, or its end.

`{who}` is a person, `{old}` the value before, `{what}` the new one, `{when}` words for a day that `MOMENTS` knows. Days are computed here
by rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from umi.sim.rng import DeterministicRng

_TALES: Final = 6  # in a world
_PAIRS: Final = 2


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that sentences are about.

    `subject` and `slot` name it as statements do. `first` states a value, `later` another one in its place, `dated` that as well, with a day
    from which it holds, `over` ends it. `question` asks for it, where a question of rules can.
    """

    slot: str
    subject: str
    values: tuple[str, ...]
    first: tuple[str, ...]
    later: tuple[str, ...] = ()
    dated: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    question: str = ""


_FIRMS: Final = ("Acme", "Globex", "Initech", "Umbra", "Northwind Labs")
_PLACES: Final = ("Lisbon", "Bergen", "Graz", "Cape Town", "Porto")

TOPICS: Final = (
    Topic(
        "works_at", "{who}", _FIRMS,
        ("{who} works at {what}.", "{who} works for {what} as a nurse.", "{who} is working at {what}.", "My sister {who} works for {what}.",
         "{who} is employed at {what}.", "{who}'s employer is {what}."),
        ("{who} now works at {what}.", "{who} left {old} and joined {what}.", "{who} joined {what} and left {old}.", "{who} left {old} for {what}.",
         "{who} started a new job at {what}.", "{who} got a new job at {what}.", "{who} has a new job at {what}.", "{who}'s new employer is {what}.",
         "After leaving {old}, {who} joined {what}.", "{who} joined {what} after leaving {old}.", "{who} was hired by {what}.",
         "{who} switched jobs and is now at {what}.", "{who} changed jobs: she works at {what} now.", "{who} is working for {what} these days.",
         "{who} accepted a position at {what}.", "{who} landed a role at {what}."),
        ("{who} joined {what} {when}.", "{who} started a new job at {what} {when}."),
        ("{who} no longer works at {old}.", "{who} quit {old}.", "{who} resigned from {old}.", "{who} was laid off from {old}.",
         "{who} doesn't work at {old} anymore.", "{who} got fired from {old}.", "{who} quit her job.", "{who} is not working at {old} any more."),
        "Where does {who} work?",
    ),
    Topic(
        "lives_in", "{who}", _PLACES,
        ("{who} lives in {what}.", "My brother {who} lives in {what}.", "{who} is living in {what}.", "Dr. {who} lives in {what}.", "{who} is based in {what}."),
        ("{who} moved to {what}.", "{who} has relocated to {what}.", "{who} is now living in {what}.", "{who} moved from {old} to {what}.",
         "{who} now lives in {what}.", "{who} has moved back to {what}.", "No, wait, {who} actually lives in {what}."),
        ("{who} moved to {what} {when}.", "{who} relocated to {what} {when}.", "{who} moved from {old} to {what} {when}."),
        ("{who} no longer lives in {old}.", "{who} doesn't live in {old} any more."),
        "Where does {who} live?",
    ),
    Topic(
        "age", "{who}", ("29", "30", "31"),
        ("{who} is {what} years old.", "My son {who} is {what}.", "{who} is {what}.", "My dog {who} is {what} years old."),
        ("{who} turned {what}.", "{who} is {what} now.", "{who} just turned {what}."),
        question="How old is {who}?",
    ),
    Topic(
        "role", "{who}", ("nurse", "doctor", "teacher", "lead engineer", "head of marketing"),
        ("{who} is the {what}.", "{who} works as a {what}."),
        ("{who} became a {what}.", "{who} was promoted to {what}.", "{who} is now a {what}."),
        question="What is {who}'s job?",
    ),
    Topic(
        "email", "{who}", ("ada@example.org", "bix@example.org", "c.d@example.net"),
        ("{who}'s email is {what}.", "{who}'s email address is {what}."),
        ("{who}'s new email is {what}.", "{who}'s email is now {what}."),
        question="What is {who}'s email?",
    ),
    Topic(
        "phone", "{who}", ("555-0100", "555 0199"),
        ("{who}'s phone number is {what}.",),
        ("{who}'s phone number is now {what}.", "{who}'s new phone number is {what}."),
        question="What is {who}'s phone number?",
    ),
    Topic(
        "status", "ticket 42", ("open", "closed", "blocked", "on hold", "resolved"),
        ("Ticket 42 is {what}.",),
        ("Ticket 42 is now {what}.", "Ticket 42 was marked as {what}."),
        question="What is the status of ticket 42?",
    ),
    Topic(
        "status", "apollo", ("on track", "delayed", "on hold"),
        ("Project Apollo is {what}.", "The Apollo project is {what}."),
        ("Project Apollo is now {what}.", "The Apollo project was put {what}."),
    ),
    Topic(
        "costs", "pro plan", ("$20", "$25", "$30.50", "€18", "40 euros", "$1,650"),
        ("The Pro plan costs {what}.", "The price of the Pro plan is {what}.", "The Pro plan's price is {what}."),
        ("The Pro plan now costs {what}.", "The price of the Pro plan went up to {what}.", "They raised the Pro plan to {what}.",
         "The Pro plan's price dropped to {what}."),
        question="How much does the Pro plan cost?",
    ),
    Topic(
        "attr:manager", "{who}", ("Carol", "Dave", "Sarah"),
        ("{who}'s manager is {what}.", "{who} reports to {what}."),
        ("{who}'s manager is now {what}.", "{who} now reports to {what}.", "{who}'s new boss is {what}."),
        question="Who is {who}'s manager?",
    ),
    Topic(
        "likes", "{who}", ("hiking", "dark mode", "coffee", "chess"),
        ("{who} likes {what}.", "{who} loves {what}.", "{who} enjoys {what}.", "{who} really likes {what}."),
        over=("{who} doesn't like {old} anymore.", "{who} no longer likes {old}.", "{who} used to love {old}."),
        question="What does {who} like?",
    ),
    Topic("drinks", "{who}", ("coffee", "green tea"), ("{who} drinks {what}.",), over=("{who} stopped drinking {old}.",)),
    Topic("drives", "{who}", ("Volvo", "Honda"), ("{who} drives a {what}.",), ("{who} now drives a {what}.",)),
    Topic("weight", "{who}", ("70 kg", "65 kg"), ("{who} weighs {what}.",), ("{who} now weighs {what}.",)),
    Topic("plays", "{who}", ("tennis", "the violin", "chess"), ("{who} plays {what}.",),
          over=("{who} doesn't play {old} anymore.", "{who} stopped playing {old}.")),
    Topic("speaks", "{who}", ("German", "Spanish"), ("{who} speaks {what}.",), over=("{who} no longer speaks {old}.",)),
    Topic("speaks", "{who}", ("German", "Spanish"), ("{who} is learning {what}.",), over=("{who} stopped learning {old}.",)),
    Topic("allergic_to", "{who}", ("peanuts", "cats"), ("{who} is allergic to {what}.",), over=("{who} is no longer allergic to {old}.",)),
    Topic("owns", "{who}", ("Honda", "boat", "blue bike"), ("{who} owns a {what}.", "{who} has a {what}."), over=("{who} sold the {old}.",)),
    Topic("studies_at", "{who}", ("Lund University", "Stanford University"), ("{who} studies at {what}.",), ("{who} transferred to {what}.",),
          over=("{who} graduated from {old}.",)),
    Topic("married_to", "{who}", ("Kim", "Robin"), ("{who} is married to {what}.", "{who} married {what}."), over=("{who} divorced {old}.",)),
    Topic("partner", "{who}", ("Kim", "Robin"), ("{who} is dating {what}.",), over=("{who} broke up with {old}.",)),
    Topic("diet", "{who}", ("vegetarian", "vegan"), ("{who} is {what}.",), ("{who} is {what} now.",)),
    Topic("favourite_colour", "{who}", ("teal", "red", "dark green"), ("{who}'s favourite colour is {what}.", "{who}'s favorite color is {what}."),
          ("{who}'s favourite colour is {what} now.", "{who}'s favourite colour is {what} these days."),
          question="What is {who}'s favourite colour?"),
    Topic("name", "{who}'s dog", ("Rex", "Bello"), ("{who}'s dog is called {what}.", "{who}'s dog is named {what}.")),
    Topic("location", "{who}'s office", ("Lisbon", "Porto"), ("{who}'s office is in {what}.",), ("{who}'s office moved to {what}.",)),
    Topic("count:employee", "acme", ("200", "250"), ("Acme has {what} employees.",), ("Acme now has {what} employees.",)),
    Topic("version", "api", ("2.1", "2.2"), ("The API version is {what}.",), ("The API version is now {what}.",)),
    Topic("uses:editor", "{who}", ("VS Code", "Neovim"), ("{who} uses {what}.",), ("{who} switched to {what}.", "{who} switched from {old} to {what}.")),
    Topic("prefers:drink", "{who}", ("tea", "coffee"), ("{who} prefers {what}.",), ("{who} prefers {what} now.", "{who} switched from {old} to {what}.")),
    Topic("attr:ceo", "acme", ("John Smith", "Jane Roe"), ("The CEO of Acme is {what}.", "Acme's CEO is {what}."), ("The CEO of Acme is now {what}.",)),
    Topic("lives_in", "mika", _PLACES, ("I live in {what}.", "i live in {what}", "We live in {what}.", "I'm based in {what}."),
          ("I moved to {what}.", "i moved to {what}", "I now live in {what}.", "I moved from {old} to {what}.", "I've relocated to {what}."),
          ("I moved to {what} {when}.", "We relocated to {what} {when}.")),
    Topic("works_at", "mika", _FIRMS, ("I work at {what}.", "I'm working for {what}.", "I work for {what} as a developer."),
          ("I quit {old} last week and started at {what}.", "I got a new job at {what}!", "I joined {what}.", "I now work at {what}."),
          ("I joined {what} {when}.", "I started at {what} {when}."),
          ("I'm no longer with {old}.", "I left {old}.", "I quit my job.", "I don't work at {old} anymore.")),
    Topic("favourite_food", "mika", ("sushi", "ramen"), ("My favourite food is {what}.", "My favorite food is {what}."),
          ("My favorite food is {what} these days.", "My favourite food is now {what}.")),
    Topic("likes", "mika", ("hiking", "dark mode"), ("I like {what}.", "I love {what}", "I really enjoy {what}.", "I'm fond of {what}."),
          over=("I don't like {old} anymore.", "I no longer like {old}.", "I used to like {old}.", "I stopped liking {old}.")),
    Topic("email", "mika", ("sam@old.example", "sam@new.example"), ("My email is {what}.",), ("My new email is {what}.",)),
    Topic("phone", "mika", ("555-0100", "555-0199"), ("My phone number is {what}.",), ("I changed my phone number to {what}.",)),
    Topic("age", "mika", ("34", "35"), ("I am {what} years old.", "I'm {what}."), ("I turned {what}.", "I'm {what} now.")),
    Topic("owns", "mika", ("car", "Honda"), ("I have a {what}.", "I own a {what}.", "I bought a {what}."), over=("I sold the {old}.", "I sold my {old}.")),
    Topic("name", "mika", ("Jon", "Mia"), ("My name is {what}.",), ("Actually, my name is {what}.",)),
    Topic("status", "ticket 7", ("closed", "merged", "resolved", "blocked"), ("Ticket 7 is {what}.",), ("Ticket 7 was {what}.", "Ticket 7 has been {what}.")),
    Topic("status", "order 12", ("shipped", "delivered", "cancelled"), ("Order 12 is {what}.",), ("Order 12 has been {what}.", "Order 12 was {what}.")),
    Topic("name", "mika's cat", ("Misha", "Luna"), ("My cat is called {what}.", "My cat's name is {what}.")),
    Topic("lives_in", "kim", _PLACES, ("My sister Kim lives in {what}.", "Kim is a nurse. She lives in {what}."),
          ("My sister Kim moved to {what}.", "Kim is happy. She moved to {what}.")),
    Topic("lives_in", "{who}'s sister", _PLACES, ("{who}'s sister lives in {what}.", "{who}'s sister is based in {what}."),
          ("{who}'s sister moved to {what}.", "{who}'s sister now lives in {what}.")),
    Topic("works_at", "{who}'s brother", _FIRMS, ("{who}'s brother works at {what}.", "{who}'s brother works for {what}."),
          ("{who}'s brother now works at {what}.",), over=("{who}'s brother no longer works at {old}.",)),
    Topic("lives_in", "mika's sister", _PLACES, ("My sister lives in {what}.",), ("My sister moved to {what}.", "My sister now lives in {what}.")),
    Topic("attr:manager", "mika's sister", ("Carol", "Dave"), ("My sister's boss is {what}.",),
          ("My sister's boss is now {what}.", "My sister's new boss is {what}.")),
    Topic("attr:manager", "mika", ("Carol", "Dave"), ("My boss is {what}.", "I report to {what}."), ("My boss is now {what}.", "My new boss is {what}.")),
    Topic("name", "mika's wife", ("Robin", "Kim"), ("My wife's name is {what}.", "My wife is called {what}.")),
    Topic("attr:rent", "mika", ("$1,200", "$1,350", "900 euros"), ("My rent is {what}.",), ("My rent is now {what}.", "My rent went up to {what}.")),
    Topic("attr:salary", "{who}", ("$50,000", "$62,500"), ("{who}'s salary is {what}.",), ("{who}'s salary is now {what}.", "{who}'s salary went up to {what}.")),
    Topic("costs", "ticket", ("€12.50", "€14", "15 dollars"), ("The ticket costs {what}.", "The price of the ticket is {what}."),
          ("The ticket now costs {what}.", "The price of the ticket dropped to {what}.")),
    Topic("costs", "basic plan", ("$15 per month", "$20 per month"), ("The Basic plan costs {what}.", "The price of the Basic plan is {what}.")),
    Topic("attr:password", "wifi", ("hunter2", "blue-lake-7"), ("The wifi password is {what}.",), ("The wifi password is now {what}.",)),
    Topic("attr:badge number", "{who}", ("42", "57"), ("{who}'s badge number is {what}.",), ("{who}'s badge number is now {what}.", "{who}'s new badge number is {what}.")),
    Topic("address", "{who}", ("12 Main Street", "7 Oak Lane"), ("{who}'s address is {what}.",), ("{who}'s address is now {what}.", "{who}'s new address is {what}.")),
    Topic("favourite_book", "{who}", ("Dune", "Emma"), ("{who}'s favourite book is {what}.",), ("{who}'s favourite book is now {what}.",)),
    Topic("birthday", "{who}", ("3 March 1990", "5 May 1988"), ("{who} was born on {what}.", "{who}'s birthday is {what}."),
          ("Actually, {who} was born on {what}.",)),
    Topic("attr:assignee", "ticket 42", ("Bram", "Nora"), ("Ticket 42 is assigned to {what}.",), ("Ticket 42 is now assigned to {what}.",)),
    Topic("attr:lead", "apollo", ("Bram", "Nora"), ("The Apollo project is led by {what}.", "{what} leads the Apollo project."),
          ("{what} now leads the Apollo project.", "The Apollo project is now led by {what}.")),
    Topic("attr:capital", "portugal", ("Lisbon", "Porto"), ("The capital of Portugal is {what}.",), ("The capital of Portugal is now {what}.",)),
    Topic("status", "build", ("broken", "green"), ("The build is {what}.",), ("The build is now {what}.",)),
    Topic("status", "server", ("down", "up"), ("The server is {what}.",), ("The server is now {what}.",)),
    Topic("uses:database", "mika", ("PostgreSQL", "MySQL"), ("We use {what}.",), ("We switched to {what}.", "We moved from {old} to {what}.", "We now use {what}.")),
    Topic("studies_at", "mika", ("Lund University", "Stanford University"), ("I study at {what}.",), ("I transferred to {what}.",), over=("I graduated from {old}.",)),
    Topic("married_to", "mika", ("Kim", "Robin"), ("I'm married to {what}.", "I married {what}."), over=("I divorced {old}.", "I'm no longer married to {old}.")),
    Topic("partner", "mika", ("Kim", "Robin"), ("I'm dating {what}.",), over=("I broke up with {old}.",)),
    Topic("role", "mika", ("nurse", "teacher"), ("I'm a {what}.", "I work as a {what}."), ("I became a {what}.", "I'm now a {what}.", "I was promoted to {what}.")),
    Topic("diet", "mika", ("vegetarian", "vegan"), ("I'm {what}.",), ("I'm {what} now.",)),
    Topic("allergic_to", "mika", ("peanuts", "cats"), ("I'm allergic to {what}.",), over=("I'm no longer allergic to {old}.",)),
    Topic("prefers:drink", "mika", ("tea", "coffee"), ("I prefer {what} to juice.", "I prefer {what}."), ("I prefer {what} now.", "I switched from {old} to {what}.")),
    Topic("speaks", "mika", ("German", "Spanish"), ("I speak {what}.",), over=("I no longer speak {old}.",)),
    Topic("plays", "mika", ("tennis", "chess"), ("I play {what}.",), over=("I don't play {old} anymore.", "I stopped playing {old}.")),
    Topic("drives", "mika", ("Volvo", "Honda"), ("I drive a {what}.",), ("I now drive a {what}.", "I drive a {what} now.")),
    Topic("scheduled_at", "launch", (), ("The launch is {what}.",)),
    Topic("scheduled_at", "meeting", (), ("The meeting is {what}.", "The meeting takes place {what}."), ()),
    Topic("due", "report", (), ("The report is due {what}.",)),
)  # fmt: skip


def _weekday_before(day: date, weekday: int) -> date:
    return day - timedelta(days=(day.weekday() - weekday) % 7 or 7)


def _month_before(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, day.day)


def _latest(day: date, month: int, of_month: int = 1) -> date:
    """The latest such day of a year that is not after this one."""
    here = date(day.year, month, of_month)
    return here if here <= day else date(day.year - 1, month, of_month)


# Words for a day, and which day they mean on another day.
MOMENTS: Final[dict[str, Callable[[date], date]]] = {
    "yesterday": lambda day: day - timedelta(days=1),
    "the day before yesterday": lambda day: day - timedelta(days=2),
    "three days ago": lambda day: day - timedelta(days=3),
    "10 days ago": lambda day: day - timedelta(days=10),
    "a week ago": lambda day: day - timedelta(days=7),
    "two weeks ago": lambda day: day - timedelta(days=14),
    "two months ago": lambda day: _month_before(day, 2),
    "a year ago": lambda day: _month_before(day, 12),
    "last Monday": lambda day: _weekday_before(day, 0),
    "last Wednesday": lambda day: _weekday_before(day, 2),
    "last Friday": lambda day: _weekday_before(day, 4),
    "last Sunday": lambda day: _weekday_before(day, 6),
    "last week": lambda day: day - timedelta(days=day.weekday() + 7),
    "last month": lambda day: _month_before(day.replace(day=1), 1),
    "last year": lambda day: date(day.year - 1, 1, 1),
    "in March": lambda day: _latest(day, 3),
    "last November": lambda day: _latest(day, 11),
    "in March 2027": lambda _: date(2027, 3, 1),
    "in 2027": lambda _: date(2027, 1, 1),
    "in December 2027": lambda _: date(2027, 12, 1),
    "on 3 March 2028": lambda _: date(2028, 3, 3),
    "on Friday, 3 March 2028": lambda _: date(2028, 3, 3),
    "on March 3, 2028": lambda _: date(2028, 3, 3),
    "on March 3rd, 2028": lambda _: date(2028, 3, 3),
    "on 2028-03-03": lambda _: date(2028, 3, 3),
    "on the 3rd of March": lambda day: _latest(day, 3, 3),
    "on 31 January": lambda day: _latest(day, 1, 31),
}
# How a day is written as a value.
WRITTEN: Final = {"3 March 1990": "1990-03-03", "5 May 1988": "1988-05-05"}
# Days on which something is said: of every part of a week, in and at the end of a month, before and after leap days.
DAYS: Final = (
    date(2029, 5, 16), date(2029, 5, 18), date(2029, 2, 26), date(2029, 12, 30), date(2029, 1, 1), date(2028, 12, 5), date(2029, 8, 27),
)  # fmt: skip

# Said of one who lives somewhere; none of them says that they live elsewhere now.
NOTHING_NEW: Final = (
    "Does {who} live in {what}?", "If {who} moved to {what}, we would visit.", "{who} dreamed of {what}.", "I wish {who} lived in {what}.",
    "{who} might move to {what}.", "{who} visited {what} yesterday.", "{who} has never lived in {what}.",
    "{who} wants to move to {what}.", "Imagine {who} lived in {what}.", "{who} did not move to {what}.",
)  # fmt: skip


# Sentences that state a home `{place}` and a firm `{firm}`, of one person or of two; `{who}` has the home, `{other}` or nobody else the firm.
PAIRS: Final = (
    "{who} lives in {place} and works at {firm}.", "{who} works at {firm} and lives in {place}.", "My sister {who} lives in {place} and works at {firm}.",
    "{who} works at {firm}. She lives in {place}.", "{who} lives in {place}. He works at {firm}.",
)  # fmt: skip
PAIRS_OF_TWO: Final = (
    "{who} lives in {place}, and {other} works at {firm}.", "{other} works at {firm}; {who} lives in {place}.", "{other} works at {firm}. {who} lives in {place}.",
)  # fmt: skip


def _next_weekday(day: date, weekday: int) -> date:
    return day + timedelta(days=(weekday - day.weekday()) % 7 or 7)


# Words for when something is to be, and what that is on another day, as values are written.
UPCOMING: Final[dict[str, Callable[[date], str]]] = {
    "on Friday": lambda day: f"{_next_weekday(day, 4)}",
    "on Friday at 3 pm": lambda day: f"{_next_weekday(day, 4)}T15:00",
    "on Tuesday at 9:30": lambda day: f"{_next_weekday(day, 1)}T09:30",
    "on Monday at noon": lambda day: f"{_next_weekday(day, 0)}T12:00",
    "tomorrow": lambda day: f"{day + timedelta(days=1)}",
    "tomorrow at 12 am": lambda day: f"{day + timedelta(days=1)}T00:00",
    "in 2 weeks": lambda day: f"{day + timedelta(days=14)}",
    "in three days": lambda day: f"{day + timedelta(days=3)}",
    "on 3 March 2031": lambda _: "2031-03-03",
    "on March 3, 2031 at 4:15 pm": lambda _: "2031-03-03T16:15",
    "on 2031-12-31": lambda _: "2031-12-31",
}

_WHO: Final = ("Nora", "Bram", "Tilda", "Otto")
_LONG_BEFORE: Final = "2026-01-02T09:00"


def told(rng: DeterministicRng) -> list[dict[str, Any]]:
    """Tales of one thing each: what was said when, and what then holds."""
    return [*(_tale(rng) for _ in range(_TALES)), *(_pair(rng) for _ in range(_PAIRS))]


def _tale(rng: DeterministicRng) -> dict[str, Any]:
    topic, who, day = rng.choice(TOPICS), rng.choice(_WHO), rng.choice(DAYS)
    values = list(rng.shuffled(topic.values or tuple(UPCOMING)))
    old, new = values[:2]
    first = rng.choice(topic.first).format(who=who, what=old)
    kinds = [kind for kind in ("first", "later", "dated", "over", "nothing") if kind == "first" or _forms(topic, kind)]
    kind = rng.choice(kinds)
    when = rng.choice(tuple(MOMENTS))
    said = [(first, f"{day}T10:00")]
    if kind != "first":
        second = rng.choice(_forms(topic, kind)).format(who=who, what=new, old=old, when=when)
        said = [(first, _LONG_BEFORE), (second, f"{day}T10:00")]
    now = {"first": old, "nothing": old, "over": None}.get(kind, new)
    meant = UPCOMING[now](day) if now in UPCOMING else WRITTEN.get(now or "", now)
    return {
        "said": said,
        "who": who,
        "subject": topic.subject.format(who=who).casefold(),
        "slot": topic.slot,
        "now": meant,
        "since": f"{MOMENTS[when](day)}" if kind == "dated" else None,
        "shown": said[0][0] if kind == "nothing" else said[-1][0],
        "question": topic.question.format(who=who) or None,
    }


def _pair(rng: DeterministicRng) -> dict[str, Any]:
    """Two facts in one sentence, of which one changes or ends later: the other stays as it was."""
    who, other, *_ = rng.shuffled(_WHO)
    place, new_place, *_ = rng.shuffled(_PLACES)
    firm, new_firm, *_ = rng.shuffled(_FIRMS)
    single = rng.chance(0.5)
    first = rng.choice(PAIRS if single else PAIRS_OF_TWO).format(who=who, other=other, place=place, firm=firm)
    employed = who if single else other
    home, job = (who, "lives_in", place), (employed, "works_at", firm)
    moving = rng.chance(0.5)
    changed, kept, new = (home, job, new_place) if moving else (job, home, new_firm)
    topic = next(one for one in TOPICS if (one.slot, one.subject) == (changed[1], "{who}"))
    kind = rng.choice(("later", "over"))
    forms = [form for form in _forms(topic, kind) if "{what}" in form or kind == "over"]
    second = rng.choice(forms).format(who=changed[0], what=new, old=changed[2])
    day = rng.choice(DAYS)
    return {
        "said": [(first, _LONG_BEFORE), (second, f"{day}T10:00")],
        "who": changed[0],
        "subject": changed[0].casefold(),
        "slot": changed[1],
        "now": new if kind == "later" else None,
        "since": None,
        "shown": second,
        "question": None,
        "beside": [(kept[0].casefold(), kept[1], kept[2])],
    }


def _forms(topic: Topic, kind: str) -> tuple[str, ...]:
    if kind == "nothing":
        return NOTHING_NEW if topic.slot == "lives_in" and "{who}" in topic.subject else ()
    forms: tuple[str, ...] = getattr(topic, kind)
    return forms
