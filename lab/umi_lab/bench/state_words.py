"""Names and values that fill the phrase banks of `umi bench state`."""

# ruff: noqa: SIM905 - word lists are easier to read and to extend as text

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from umi.sim.rng import DeterministicRng
from umi_lab.bench.phrases import Topic

_PEOPLE: Final = (
    "Priya Tomasz Ingrid Kofi Lena Mateo Noor Oskar Pilar Quinn Rahul Saskia Tariq Uma Viktor Wen Ximena Yannick Zofia Adaeze "
    "Bruno Camille Dorian Esra Fabian Gwen Hideo Ines Joaquin Katya Lorcan Mirela Nils Odette Pascal Ramona Stellan Thuy Ulrich "
    "Vanja Wiebke Yara Zeno Amara Bashir Corinna Dario Elif Femi Greta Hamza Isolde Jorun Kenji Linnea Malik Nerea Orla Petra"
).split()
_FIRMS: Final = (
    "Brightwell Logistics,Nordlicht,Halden & Pike,Greenleaf Dental,Ostrava Steel,Paperboat Games,Kestrel Insurance,Mosaic Bank,"
    "Tallow Street Bakery,Vireo Health,Redwood Grammar School,Solano Shipping,Zephyr Airlines,Inkwell Press,Copperfield Law,"
    "Aurora Chemicals,Lindgren Furniture,Quay Hotels,Meridian Water,Fable Toys,Hexagon Optics,Ridgeline Tours,Baltic Radio,"
    "Juniper Pharma,Stonebridge Council,Corvus Security,Delmar Foods,Emberline,Tidal Energy,Wrenfield Hospital"
).split(",")
_TOWNS: Final = (
    "Ghent,Osaka,Lisbon,Tromsø,Valparaíso,Leeds,Graz,Kraków,Bologna,Izmir,Hobart,Galway,Antwerp,Porto,Malmö,Tallinn,Utrecht,"
    "Lyon,Seville,Bristol,Cork,Austin,Halifax,Kyoto,Accra,Tbilisi,Freiburg,Aarhus,Turin,Split"
).split(",")
_PRICED: Final = (
    "the gym membership,the office rent,the phone plan,the parking permit,the piano lesson,the train pass,the garden waste bin,"
    "the streaming subscription,the cleaning service,the storage unit,the dog daycare,the language course,the web hosting,"
    "the house insurance,the coworking desk,the swimming card,the magazine subscription,the internet connection,the car wash,"
    "the hotel room in Bergen,the yearly eye test,the bike service,the vegetable box,the choir fee,the climbing pass,the laundry"
).split(",")
_EVENTS: Final = (
    "the offsite,the dentist appointment,the quarterly review,the book club,the school concert,the product launch,the tax deadline,"
    "the garden party,the fire drill,the board meeting,the marathon,the wedding rehearsal,the flea market,the job interview,"
    "the chess tournament,the vaccination,the parents' evening,the photo shoot,the house viewing,the driving test,the graduation,"
    "the opening night,the blood donation,the team dinner,the museum visit,the security audit"
).split(",")
_TICKETS: Final = (
    "PAY-482,OPS-17,WEB-2291,the login bug,the broken export,ticket 7731,ticket 1204,the flaky upload test,DATA-66,MOB-318,"
    "the duplicate invoices issue,ticket 950,the slow search,API-45,the dark mode request,INFRA-909,the wrong time zone bug,"
    "ticket 6618,the password reset issue,CRM-73,the missing avatars,ticket 333,UX-58,the memory leak,SEC-12,the old import job"
).split(",")
_SETTINGS: Final = {
    "the request timeout": "5 seconds,10 seconds,30 seconds,45 seconds,60 seconds,90 seconds,120 seconds",
    "the port": "8080,8443,9000,3000,5000,7070,6060",
    "the retry limit": "2,3,4,5,8,10,12",
    "the log level": "debug,info,warning,error,trace,notice,critical",
    "the cache size": "64 MB,128 MB,256 MB,512 MB,1 GB,2 GB,4 GB",
}
_SERVICES: Final = (
    "the billing API,the search service,the mail gateway,the staging database,the image resizer,the login service"
).split(",")
_TEAMS: Final = (
    "the data team,the choir,the support desk,the design group,the mobile team,the works council,the parents' association,"
    "the platform team,the book club committee,the marketing department,the robotics club,the finance office,the research lab,"
    "the hiking group,the newsroom,the theatre group,the warehouse crew,the legal department,the youth orchestra,the food bank,"
    "the release team,the translation team,the rowing club,the kitchen crew,the steering committee,the archive"
).split(",")
_CHOICES: Final = {
    "favourite café": "Luna,the Blue Door,Café Miro,Kaffeeklatsch,the Old Mill,Bean There",
    "favourite author": "Ursula Le Guin,Italo Calvino,Toni Morrison,Haruki Murakami,Olga Tokarczuk,Terry Pratchett",
    "go-to breakfast": "porridge,shakshuka,toast with jam,granola,scrambled eggs,congee",
    "favourite pizza topping": "mushrooms,anchovies,artichokes,olives,spinach,capers",
    "favourite board game": "Carcassonne,Azul,Scrabble,Catan,Wingspan,Go",
    "preferred text editor": "Vim,Emacs,Sublime,Helix,Nano,Kate",
    "favourite colour": "teal,burgundy,mustard yellow,lavender,forest green,coral",
    "usual coffee order": "a flat white,a double espresso,a cortado,an oat latte,filter coffee,a ristretto",
    "favourite band": "Portishead,The National,Khruangbin,Sigur Rós,Radiohead,Wilco",
    "preferred airline seat": "the window,the aisle,the exit row,the front row,the back row,the middle",
    "favourite running route": "the canal loop,the forest trail,the lake circuit,the harbour path,the hill repeats,the stadium track",
    "favourite season": "autumn,winter,spring,summer,the rainy season,early spring",
    "favourite film": "Amélie,Blade Runner,Spirited Away,The Big Lebowski,Parasite,Casablanca",
    "favourite ice cream": "pistachio,stracciatella,salted caramel,lemon,hazelnut,mango",
    "preferred meeting tool": "Zoom,Teams,Meet,Jitsi,Webex,Whereby",
}
_HOBBIES: Final = (
    "pottery,rock climbing,birdwatching,chess,sourdough baking,salsa dancing,woodworking,astronomy,rowing,calligraphy,fencing,"
    "gardening,kitesurfing,origami,stamp collecting,improv theatre,archery,beekeeping"
).split(",")
_LANGUAGES: Final = (
    "Portuguese,Korean,Swahili,Finnish,Arabic,Hindi,Polish,Catalan,Mandarin,Turkish,Dutch,Greek,Vietnamese,Hungarian,Welsh,Thai"
).split(",")
_TOOLS: Final = (
    "Redis,Sentry,Terraform,Kafka,Figma,Elasticsearch,Grafana,Stripe,RabbitMQ,Webpack,Storybook,Celery,Ansible,Algolia,Docker,Jenkins"
).split(",")
_PROJECTS: Final = (
    "the website,the billing service,the mobile app,the data warehouse,the intranet,the chatbot,the booking portal,the newsletter,"
    "the inventory system,the map viewer,the reporting job,the partner API,the admin panel,the recommendation engine,the archive tool,"
    "the payroll system,the ticket shop,the sensor dashboard"
).split(",")
_MONTHS: Final = "June July August September October November December".split()
_DAYS: Final = range(1, 29)

MONTH_NAMES: Final = "January February March April May June July August September October November December".split()
_SUBJECTS: Final = {
    "price": _PRICED,
    "plan": _EVENTS,
    "ticket": _TICKETS,
    "setting": [f"{name} of {service}" for service in _SERVICES for name in _SETTINGS],
    "lead": _TEAMS,
    "choice": list(_CHOICES),
    "tools": _PROJECTS,
}
_VALUES: Final = {
    "my_job": _FIRMS,
    "their_job": _FIRMS,
    "my_home": _TOWNS,
    "their_home": _TOWNS,
    "ticket": _PEOPLE,
    "lead": _PEOPLE,
    "my_hobbies": _HOBBIES,
    "their_languages": _LANGUAGES,
    "tools": _TOOLS,
}


class Draw:
    """Names and values for one history: no name of a person or thing comes twice."""

    def __init__(self, rng: DeterministicRng) -> None:
        self.rng = rng
        self._left: dict[str, list[str]] = {}

    def person(self) -> str:
        """Somebody who was not named yet."""
        return self._next("people", _PEOPLE)

    def subject(self, topic: Topic) -> str:
        """Somebody or something that was not named yet; nothing for the speaker."""
        if topic.about == "me":
            return ""
        return self.person() if topic.about == "person" else self._next(topic.name, _SUBJECTS[topic.name])

    def has_subject(self, topic: Topic) -> bool:
        """Whether there is one left."""
        if topic.about == "person":
            return bool(self._left.get("people", _PEOPLE))
        return topic.about == "me" or bool(self._left.get(topic.name, _SUBJECTS[topic.name]))

    def values(self, topic: Topic, subject: str, count: int) -> list[str]:
        """Different values of the topic for that subject."""
        if topic.name == "price":
            return self._prices(count)
        if topic.name == "plan":
            return self._dates(count)
        if topic.name in {"ticket", "lead"}:
            return [self.person() for _ in range(count)]
        return self._some(_pool(topic, subject), count)

    def _next(self, kind: str, pool: Sequence[str]) -> str:
        if kind not in self._left:
            self._left[kind] = list(pool)
            self.rng.shuffle(self._left[kind])
        return self._left[kind].pop()

    def _some(self, pool: Sequence[str], count: int) -> list[str]:
        mixed = list(pool)
        self.rng.shuffle(mixed)
        return mixed[:count]

    def _prices(self, count: int) -> list[str]:
        form = self.rng.choice(("${0}", "{0} euros", "£{0}", "€{0}"))
        amounts = self._some([str(amount) for amount in (*range(9, 60, 5), *range(75, 950, 25))], count)
        return [form.format(amount) for amount in amounts]

    def _dates(self, count: int) -> list[str]:
        form = self.rng.choice(("{d} {m}", "{m} {d}", "the {o} of {m}"))
        days = self._some([f"{day} {month}" for day in _DAYS for month in _MONTHS], count)
        parts = [text.split() for text in days]
        return [form.format(d=day, m=month, o=_ordinal(int(day))) for day, month in parts]


def _pool(topic: Topic, subject: str) -> Sequence[str]:
    if topic.name == "setting":
        return _SETTINGS[subject.partition(" of ")[0]].split(",")
    return _CHOICES[subject].split(",") if topic.name == "choice" else _VALUES[topic.name]


def _ordinal(day: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th") if day not in {11, 12, 13} else "th"
    return f"{day}{ending}"
