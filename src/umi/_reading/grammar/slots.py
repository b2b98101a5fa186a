"""Slots: the kinds of fact that a statement can give about a subject, and which of them hold one value at a time."""

from __future__ import annotations

from typing import Final

from umi._reading.grammar.lexicon import words
from umi.types import EntityType

# Slots with one value at a time: a new value replaces the old one.
SINGLE: Final = words(
    "works_at lives_in name age costs status scheduled_at due birthday married_to partner relationship role "
    "email phone address version studies_at studies diet drives weight height location origin located_in"
)
# Slots with any number of values.
MULTIPLE: Final = words(
    "likes owns knows speaks allergic_to visited has_child has_pet has_sibling plays uses drinks eats is_a "
    "prefers called habit learns hobby"
)
# Slots with a part behind the prefix are single, too.
_SINGLE_PREFIXES: Final = ("favourite_", "prefers:", "uses:", "uses_for:", "attr:", "count:")

# Nouns that name a slot ("my salary is ..."); synonyms share one slot.
ATTRIBUTES: Final = {
    "name": "name", "full name": "name", "nickname": "attr:nickname", "age": "age", "price": "costs", "cost": "costs", "fee": "costs",
    "email": "email", "e-mail": "email", "email address": "email", "phone": "phone", "phone number": "phone", "number": "attr:number",
    "mobile number": "phone", "cell number": "phone", "telephone number": "phone", "birthday": "birthday", "date of birth": "birthday",
    "birthdate": "birthday", "job": "role", "role": "role", "title": "role", "job title": "role", "position": "role",
    "profession": "role", "occupation": "role", "employer": "works_at", "status": "status", "state": "status", "deadline": "due",
    "due date": "due", "address": "address", "home address": "address", "hometown": "origin", "home": "lives_in", "preference": "prefers", "home town": "origin", "version": "version",
    "wife": "married_to", "husband": "married_to", "spouse": "married_to", "girlfriend": "partner", "boyfriend": "partner",
    "fiancé": "partner", "fiancée": "partner", "fiance": "partner", "fiancee": "partner", "weight": "weight", "height": "height",
    "diet": "diet", "major": "studies", "location": "location", "start date": "scheduled_at", "launch date": "scheduled_at",
    "date": "scheduled_at", "salary": "attr:salary", "income": "attr:income", "budget": "attr:budget", "rent": "attr:rent",
    "password": "attr:password", "pin": "attr:pin", "username": "attr:username", "nationality": "attr:nationality",
    "religion": "attr:religion", "blood type": "attr:blood type", "size": "attr:size", "shoe size": "attr:shoe size", "colour": "attr:colour",
    "color": "attr:colour", "time zone": "attr:timezone", "timezone": "attr:timezone", "manager": "attr:manager", "boss": "attr:manager",
    "supervisor": "attr:manager", "landlord": "attr:landlord", "mentor": "attr:mentor", "owner": "attr:owner", "lead": "attr:lead",
    "leader": "attr:lead", "ceo": "attr:ceo", "cto": "attr:cto", "cfo": "attr:cfo", "president": "attr:president", "director": "attr:director",
    "capital": "attr:capital", "population": "attr:population", "venue": "attr:venue", "port": "attr:port", "url": "attr:url",
    "website": "attr:website", "balance": "attr:balance", "limit": "attr:limit", "quota": "attr:quota", "goal": "attr:goal",
    "priority": "attr:priority", "severity": "attr:severity", "assignee": "attr:assignee", "speed": "attr:speed", "score": "attr:score",
    "gpa": "attr:gpa", "temperature": "attr:temperature", "capacity": "attr:capacity", "discount": "attr:discount", "rate": "attr:rate",
    "hourly rate": "attr:rate", "currency": "attr:currency", "language": "attr:language", "native language": "attr:native language",
    "mother tongue": "attr:native language", "star sign": "attr:star sign", "zodiac sign": "attr:star sign", "theme": "attr:theme",
    "wifi password": "attr:wifi password", "wi-fi password": "attr:wifi password", "phone model": "attr:phone model",
    "best friend": "attr:best friend", "branch": "attr:branch", "default branch": "attr:default branch", "licence": "attr:licence",
    "license": "attr:licence", "maintainer": "attr:maintainer", "room number": "attr:room", "room": "attr:room", "flight number": "attr:flight",
    "gate": "attr:gate", "seat": "attr:seat", "monthly rent": "attr:rent", "bedtime": "attr:bedtime", "target": "attr:target",
    "revenue": "attr:revenue", "headcount": "attr:headcount", "estimate": "attr:estimate", "region": "attr:region", "model": "attr:model",
    "postcode": "attr:postcode", "zip code": "attr:postcode", "license plate": "attr:plate", "personal best": "attr:personal best",
}  # fmt: skip

# Slots in which a value may be ended by a statement of another slot: "quit coffee" ends "drinks" and "prefers".
ENDS_ANYWHERE: Final = (
    "works_at",
    "lives_in",
    "studies_at",
    "uses",
    "owns",
    "likes",
    "prefers",
    "drinks",
    "eats",
    "plays",
    "drives",
    "habit",
)

# Entity types of seed 000 that follow from the slot; elsewhere the subject decides.
_TYPES: Final = {
    "likes": EntityType.PREFERENCE, "diet": EntityType.PREFERENCE, "scheduled_at": EntityType.EVENT, "due": EntityType.TASK,
    "drinks": EntityType.PREFERENCE, "eats": EntityType.PREFERENCE, "visited": EntityType.EVENT,
}  # fmt: skip


def is_single(slot: str) -> bool:
    """Whether a subject can have only one value of the slot at a time."""
    return slot in SINGLE or slot.startswith(_SINGLE_PREFIXES)


def base_slot(slot: str) -> str:
    """The slot without its kind: "prefers" for "prefers:drink"."""
    return slot.partition(":")[0]


def slot_words(slot: str) -> str:
    """The slot in plain words, for reasons shown to people: "works at", "price"."""
    return slot.removeprefix("attr:").replace(":", " ").replace("_", " ")


def type_of_slot(slot: str, fallback: EntityType) -> EntityType:
    """The entity type (seed 000) of a statement in this slot; `fallback` is the type of its subject."""
    if base_slot(slot) == "prefers" or slot.startswith("favourite_"):
        return EntityType.PREFERENCE
    return _TYPES.get(slot, fallback)


# "my favourite part" names no lasting attribute.
_VAGUE: Final = words("part parts thing things one ones time moment bit way person people memory")


def attribute_slot(noun: str) -> str:
    """The slot that an attribute noun names ("salary", "favourite colour"), or ""."""
    if noun.startswith(("favourite ", "favorite ", "favorite-", "fav ")):
        what = noun.split(" ", 1)[-1].replace("color", "colour").strip()
        return "favourite_" + what.replace(" ", "_") if what and what.rpartition(" ")[2] not in _VAGUE else ""
    if noun in ATTRIBUTES:
        return ATTRIBUTES[noun]
    # A compound whose last word is a known attribute: "wedding budget".
    return f"attr:{noun}" if noun.rpartition(" ")[2] in ATTRIBUTES else ""
