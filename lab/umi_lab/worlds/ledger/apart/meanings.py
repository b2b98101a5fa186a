"""What plain sentences mean: facts about somebody or something, given by the forms of their verbs.

A fact is no sentence: it has a present form ("works at {v}"), a bare form ("work at {v}"), an event that begins it ("joined {v}"), a past form
and ends. `telling` puts one of these forms into one of many sentences, and so knows what is stated. Names of slots and the way in which values
are written are the documented ones (docs/concepts.md, docs/state.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Fact:
    """One kind of fact, with the forms of its verb in the third person; `{v}` is the value.

    Attributes:
        slot: As statements name it.
        values: As they are said.
        now: The present form.
        bare: The infinitive without "to"; "be ..." where `now` begins with "is".
        event: Past form of what begins it, or "".
        past: Past form of the state itself, or "".
        ends: Past forms of what ends it.
        several: Whether several values may hold at a time.
        denied: Whether the present form denies the value ("hates {v}").
        alone: Whether only one thing is said of it (docs/planted-bugs.md).
        marked: Whether another value takes the place of an older one only beside a word of change.
        undenied: Whether nothing is read where it is denied.
        guessed: Whether the reader of short messages guesses at it where a sentence only mentions it.
        about: The subject as it is said and as statements name it; people unless given.
        meant: How a value is written, by how it is said; as it is said unless given.
        told: Whole sentences that tell of a change to `{v}`, beside `event`.
    """

    slot: str
    values: tuple[str, ...]
    now: str
    bare: str
    event: str = ""
    past: str = ""
    ends: tuple[str, ...] = ()
    several: bool = False
    denied: bool = False
    alone: bool = False
    marked: bool = False
    undenied: bool = False
    guessed: bool = False
    about: tuple[str, str] = ("", "")
    meant: dict[str, str] = field(default_factory=dict, hash=False)
    told: tuple[str, ...] = ()


_FIRMS: Final = ("Acme", "Globex", "Initech", "Umbra", "Northwind Labs")
_PLACES: Final = ("Lisbon", "Bergen", "Graz", "Cape Town", "Porto")
_PEOPLE: Final = ("Carol", "Dave", "Sarah")
_TASTES: Final = ("chess", "jazz", "hiking", "dark chocolate")
_SCHOOLS: Final = ("Lund University", "Stanford University")
_TONGUES: Final = ("German", "Spanish")

OF_PEOPLE: Final = (
    Fact("works_at", _FIRMS, "works at {v}", "work at {v}", "joined {v}", "worked at {v}",
         ("left {v}", "resigned from {v}", "lost her job at {v}", "stopped working at {v}"), guessed=True),
    Fact("works_at", _FIRMS, "is employed by {v}", "be employed by {v}", "was hired by {v}", "was employed by {v}",
         ("got laid off from {v}", "was fired by {v}", "retired from {v}"), guessed=True),
    Fact("works_at", _FIRMS, "works full-time for {v}", "work full-time for {v}", "started working for {v}", "worked full-time for {v}",
         ("quit working for {v}",), guessed=True),
    Fact("lives_in", _PLACES, "lives in {v}", "live in {v}", "moved to {v}", "lived in {v}", ("moved out of {v}", "moved away from {v}"), guessed=True),
    Fact("lives_in", _PLACES, "resides in {v}", "reside in {v}", "settled in {v}", "resided in {v}", guessed=True),
    Fact("lives_in", _PLACES, "is based in {v}", "be based in {v}", "relocated to {v}", "was based in {v}", guessed=True),
    Fact("origin", _PLACES, "comes from {v}", "come from {v}", "was born in {v}", guessed=True),
    Fact("studies_at", _SCHOOLS, "studies at {v}", "study at {v}", "enrolled at {v}", ends=("graduated from {v}", "dropped out of {v}"), guessed=True),
    Fact("studies", ("physics", "law"), "majors in {v}", "major in {v}", past="majored in {v}"),
    Fact("speaks", _TONGUES, "speaks {v}", "speak {v}", past="spoke {v}", several=True, guessed=True),
    Fact("speaks", _TONGUES, "is fluent in {v}", "be fluent in {v}", past="was fluent in {v}", several=True, guessed=True),
    Fact("likes", _TASTES, "likes {v}", "like {v}", "started liking {v}", "liked {v}", ("stopped liking {v}",), several=True),
    Fact("likes", _TASTES, "is fond of {v}", "be fond of {v}", "grew to love {v}", "was fond of {v}", ("went off {v}",), several=True),
    Fact("likes", _TASTES, "is into {v}", "be into {v}", past="was into {v}", ends=("fell out of love with {v}",), several=True, guessed=True),
    Fact("likes", _TASTES, "is a big fan of {v}", "be a big fan of {v}", past="was a big fan of {v}", several=True),
    Fact("likes", _TASTES, "is keen on {v}", "be keen on {v}", past="was keen on {v}", several=True),
    Fact("likes", _TASTES, "is crazy about {v}", "be crazy about {v}", past="was crazy about {v}", several=True),
    Fact("likes", _TASTES, "is obsessed with {v}", "be obsessed with {v}", past="was obsessed with {v}", several=True),
    Fact("likes", _TASTES, "hates {v}", "hate {v}", past="hated {v}", denied=True, several=True),
    Fact("likes", _TASTES, "detests {v}", "detest {v}", past="detested {v}", denied=True, several=True),
    Fact("allergic_to", ("peanuts", "cats"), "is allergic to {v}", "be allergic to {v}", past="was allergic to {v}", several=True),
    Fact("prefers:drink", ("tea", "coffee"), "prefers {v}", "prefer {v}", past="preferred {v}"),
    Fact("drinks", ("cold soup", "tonic"), "drinks {v}", "drink {v}", "started drinking {v}", "drank {v}",
         ("stopped drinking {v}", "quit drinking {v}"), several=True),
    Fact("eats", ("meat", "fish"), "eats {v}", "eat {v}", past="ate {v}", ends=("stopped eating {v}", "quit eating {v}"), several=True),
    Fact("plays", ("tennis", "chess"), "plays {v}", "play {v}", past="played {v}", ends=("stopped playing {v}", "quit playing {v}"), several=True),
    Fact("has_pet", ("cat", "dog"), "has a {v}", "have a {v}", "adopted a {v}", "had a {v}", several=True),
    Fact("has_pet", ("two cats", "three dogs"), "has {v}", "have {v}", "adopted {v}", "had {v}", several=True),
    Fact("has_child", ("two kids", "three sons"), "has {v}", "have {v}", past="had {v}", several=True),
    Fact("has_sibling", ("two brothers", "one sister"), "has {v}", "have {v}", past="had {v}", several=True),
    Fact("owns", ("boat", "laptop"), "owns a {v}", "own a {v}", "bought a {v}", "owned a {v}", ("sold the {v}", "gave away the {v}"), several=True),
    Fact("owns", ("car", "laptop"), "has a {v}", "have a {v}", "purchased a {v}", "had a {v}", ("sold her old {v}",), several=True),
    Fact("drives", ("Volvo", "Honda"), "drives a {v}", "drive a {v}", past="drove a {v}", guessed=True),
    Fact("weight", ("70 kg", "65 kg"), "weighs {v}", "weigh {v}", past="weighed {v}"),
    Fact("age", ("29", "30", "31"), "is {v} years old", "be {v} years old", "turned {v}", "was {v} years old", undenied=True),
    Fact("diet", ("vegetarian", "vegan"), "is {v}", "be {v}", past="was {v}"),
    Fact("relationship", ("single", "divorced"), "is {v}", "be {v}", past="was {v}"),
    Fact("role", ("nurse", "teacher", "lawyer"), "works as a {v}", "work as a {v}", "became a {v}", "worked as a {v}", guessed=True),
    Fact("role", ("coach", "director"), "serves as {v}", "serve as {v}", "was appointed as {v}", "served as {v}"),
    Fact("attr:manager", _PEOPLE, "reports to {v}", "report to {v}", past="reported to {v}"),
    Fact("attr:manager", _PEOPLE, "is managed by {v}", "be managed by {v}", past="was managed by {v}"),
    Fact("attr:waking time", ("6:30", "7 am", "8:15 am"), "wakes up at {v}", "wake up at {v}", meant={"6:30": "T06:30", "7 am": "T07:00", "8:15 am": "T08:15"}),
    Fact("attr:bedtime", ("11 pm", "22:45"), "goes to bed at {v}", "go to bed at {v}", meant={"11 pm": "T23:00", "22:45": "T22:45"}),
    Fact("married_to", _PEOPLE, "is married to {v}", "be married to {v}", "married {v}", "was married to {v}", ("divorced {v}",)),
    Fact("partner", _PEOPLE, "is dating {v}", "be dating {v}", "started dating {v}", "was dating {v}", ("broke up with {v}", "split up with {v}"), guessed=True),
    Fact("partner", _PEOPLE, "is engaged to {v}", "be engaged to {v}", past="was engaged to {v}"),
    Fact("knows", _PEOPLE, "knows {v}", "know {v}", past="knew {v}", several=True),
    Fact("knows", _PEOPLE, "is friends with {v}", "be friends with {v}", past="was friends with {v}", several=True, guessed=True),
    Fact("name", ("Nono", "Weber"), "goes by {v}", "go by {v}", "changed her name to {v}", "went by {v}"),
    Fact("uses:notes", ("Notion", "Obsidian"), "uses {v}", "use {v}", "started using {v}", "used {v}", ("stopped using {v}", "quit using {v}"), marked=True),
    Fact("uses:database", ("PostgreSQL", "SQLite"), "uses {v}", "use {v}", "switched to {v}", "used {v}", ("stopped using {v}",), marked=True),
)  # fmt: skip


_TIMES: Final = {"7:45": "T07:45", "6 pm": "T18:00", "11:30 am": "T11:30", "12 am": "T00:00", "21:05": "T21:05"}
_DATES: Final = {
    "3 June 2030": "2030-06-03", "June 10, 2030": "2030-06-10", "2030-07-01": "2030-07-01", "21st of August 2030": "2030-08-21",
    "Oct 5 2030": "2030-10-05",
}  # fmt: skip
_HOURS: Final = {
    "5 Oct 2030 at 9:30": "2030-10-05T09:30", "December 24, 2030 at 4 pm": "2030-12-24T16:00", "3 June 2030 at noon": "2030-06-03T12:00",
    "2030-07-01 14:20": "2030-07-01T14:20", "July 4th, 2030 at midnight": "2030-07-04T00:00",
}  # fmt: skip
_SUMS: Final = ("$20", "$25.50", "€18", "40 euros", "$1,650", "$1.5k", "15 dollars")
_RATES: Final = ("£9 per month", "15 dollars a month", "$7 per user", "€12 each", "$3/month")
_STATES: Final = ("open", "blocked", "on hold", "in progress", "done", "pending")


def _of(
    said: str,
    key: str,
    slot: str,
    values: tuple[str, ...] | dict[str, str],
    now: str,
    bare: str,
    event: str = "",
    **more: object,
) -> Fact:
    """A fact of a thing; values by how they are said, where they are written otherwise."""
    meant = values if isinstance(values, dict) else {}
    return Fact(slot, tuple(values), now, bare, event, about=(said, key), meant=meant, **more)  # type: ignore[arg-type]


OF_THINGS: Final = (
    _of("The Pro plan", "pro plan", "costs", _SUMS, "costs {v}", "cost {v}", "went up to {v}",
        told=("They raised the price of the Pro plan to {v}.", "We cut the Pro plan to {v}.", "The price of the Pro plan fell to {v}.", "We changed the price of the Pro plan to {v}.")),
    _of("The Basic plan", "basic plan", "costs", _SUMS, "sells for {v}", "sell for {v}", "dropped to {v}", told=("The price of the Basic plan was raised to {v}.",)),
    _of("The Team plan", "team plan", "costs", _SUMS, "is priced at {v}", "be priced at {v}", "was lowered to {v}"),
    _of("The Mini plan", "mini plan", "costs", _SUMS, "is {v}", "be {v}", "rose to {v}"),
    _of("The price of the Max plan", "max plan", "costs", _SUMS, "is {v}", "be {v}", "went down to {v}"),
    _of("The Gold plan", "gold plan", "costs", _RATES, "costs {v}", "cost {v}", "went up to {v}", alone=True),
    _of("The hearing", "hearing", "scheduled_at", _HOURS, "takes place on {v}", "take place on {v}", "was moved to {v}", alone=True),
    _of("The payment", "payment", "due", _HOURS, "is due on {v}", "be due on {v}", alone=True),
    _of("Ticket 42", "ticket 42", "status", _STATES, "is {v}", "be {v}", "was marked as {v}", told=("We marked ticket 42 as {v}.",)),
    _of("Order 12", "order 12", "status", ("shipped", "paid", "cancelled"), "is {v}", "be {v}", "was {v}", told=("They {v} order 12.",)),
    _of("Issue 9", "issue 9", "status", ("fixed", "closed", "deployed"), "is {v}", "be {v}", "has been {v}", told=("We {v} issue 9.",)),
    _of("Project Borealis", "borealis", "status", ("on hold", "delayed", "in beta"), "is {v}", "be {v}", "was put {v}"),
    _of("The status of ticket 7", "ticket 7", "status", _STATES, "is {v}", "be {v}", "changed to {v}"),
    _of("The report", "report", "due", _DATES, "is due on {v}", "be due on {v}", marked=True, undenied=True),
    _of("The report's deadline", "report", "due", _DATES, "is {v}", "be {v}", "moved to {v}", undenied=True),
    _of("The launch", "launch", "scheduled_at", _DATES, "takes place on {v}", "take place on {v}", "was postponed to {v}", marked=True, undenied=True,
        told=("We moved the launch to {v}.", "The launch slipped to {v}.", "They postponed the launch to {v}.", "The launch was brought forward to {v}.")),
    _of("The exam", "exam", "scheduled_at", _DATES, "is on {v}", "be on {v}", "was rescheduled to {v}", marked=True, undenied=True),
    _of("The concert", "concert", "scheduled_at", _DATES, "is scheduled for {v}", "be scheduled for {v}", "was moved to {v}", marked=True, undenied=True),
    _of("My flight", "mika's flight", "attr:departure", _TIMES, "leaves at {v}", "leave at {v}", undenied=True),
    _of("The train", "train", "attr:arrival", _TIMES, "arrives at {v}", "arrive at {v}", marked=True, undenied=True),
    _of("The museum", "museum", "attr:closing time", _TIMES, "closes at {v}", "close at {v}", marked=True, undenied=True),
    _of("The shop", "shop", "attr:opening time", _TIMES, "opens at {v}", "open at {v}", marked=True, undenied=True),
    _of("The party", "party", "attr:end", _TIMES, "ends at {v}", "end at {v}", marked=True, undenied=True),
    _of("Our office", "mika's office", "location", _PLACES, "is located in {v}", "be located in {v}", "moved to {v}"),
    _of("The archive", "archive", "location", _PLACES, "is located in {v}", "be located in {v}", "relocated to {v}", marked=True),
    _of("The API", "api", "version", ("2.4", "3.0.1"), "runs version {v}", "run version {v}", "was upgraded to {v}"),
    _of("The budget of the Apollo project", "apollo", "attr:budget", ("$50,000", "$60k"), "is {v}", "be {v}", "went up to {v}"),
    _of("The owner of ticket 8", "ticket 8", "attr:owner", _PEOPLE, "is {v}", "be {v}", "changed to {v}"),
    _of("The server's port", "server", "attr:port", ("8080", "9090"), "is {v}", "be {v}", "changed to {v}"),
    _of("My favourite band", "mika", "favourite_band", ("Radiohead", "Blur"), "is {v}", "be {v}", "changed to {v}"),
    _of("Nora's height", "nora", "height", ("172 cm", "181 cm"), "is {v}", "be {v}"),
    _of("Nora's salary", "nora", "attr:salary", ("$50,000", "$60k", "€52,000"), "is {v}", "be {v}", "rose to {v}"),
    _of("Nora's native language", "nora", "attr:native language", ("Danish", "Welsh"), "is {v}", "be {v}"),
    _of("Nora's blood type", "nora", "attr:blood type", ("AB", "B+"), "is {v}", "be {v}"),
    _of("Acme", "acme", "count:employee", ("200", "350"), "has {v} employees", "have {v} employees", undenied=True),
)  # fmt: skip
