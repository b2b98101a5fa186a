"""The conversations of two benchmarks, LoCoMo and LongMemEval."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Any, BinaryIO

from umi.errors import InvalidInput
from umi.faces.importers.records import Defaults, Item, Rejected, date_of, objects, record

_SESSION = re.compile(r"session_([0-9]{1,9})\Z")
_LOCOMO_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*\Z", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def locomo(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The turns of every conversation, session by session; ids are "SAMPLE:DIA", groups are the sample ids."""
    for index, (line, value) in enumerate(objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        sample = str(value.get("sample_id") or f"conversation-{index}")
        conversation = value.get("conversation")
        if not isinstance(conversation, Mapping):
            yield Rejected(line, sample, "has no 'conversation'")
            continue
        numbers = {key: int(found[1]) for key in conversation if (found := _SESSION.match(key))}
        for name in sorted(numbers, key=numbers.__getitem__):
            yield from _locomo_session(conversation, name, numbers[name], line, sample, defaults)


def _locomo_session(
    conversation: Mapping[str, Any], name: str, number: int, line: int, sample: str, defaults: Defaults
) -> Iterator[Item]:
    turns, said = conversation[name], conversation.get(f"{name}_date_time")
    try:
        at = _locomo_moment(said, defaults.zone)
    except InvalidInput as error:
        yield Rejected(line, f"{sample} {name}", str(error))
        return
    if not isinstance(turns, list):
        yield Rejected(line, f"{sample} {name}", "is not a list of turns")
        return
    for index, turn in enumerate(turns, 1):
        if not isinstance(turn, Mapping):
            yield Rejected(line, f"{sample} {name} turn {index}", "is not an object")
            continue
        place = str(turn.get("dia_id") or f"D{number}:{index}")
        content = turn.get("text")
        if (caption := turn.get("blip_caption")) and isinstance(content, str):
            content = f"{content} [photo: {caption}]".strip()
        given = {
            "content": content,
            "id": f"{sample}:{place}",
            "speaker": turn.get("speaker"),
            "session": f"{sample}:{name}",
            "at": at,
        }
        yield record(given, line, f"{sample} {place}", sample)


def _locomo_moment(said: object, zone: tzinfo) -> datetime:
    found = _LOCOMO_DATE.match(said) if isinstance(said, str) else None
    month = found[5][:3].lower() if found else ""
    if found is None or month not in _MONTHS:
        raise InvalidInput(f"its date {said!r} does not read like '1:56 pm on 8 May, 2023'")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return date_of(int(found[6]), _MONTHS.index(month) + 1, int(found[4]), hour, int(found[2]), zone)


_LONGMEMEVAL_DATE = re.compile(
    r"\s*(\d{4})/(\d{1,2})/(\d{1,2})\s*(?:\([a-z]+\))?\s*(\d{1,2}):(\d{2})\s*\Z", re.IGNORECASE
)


def longmemeval(stream: BinaryIO, defaults: Defaults) -> Iterator[Item]:
    """The turns of every session of every question; groups are the question ids.

    Questions share sessions, at times with another date: ids are "SESSION@DATE#TURN", so that one session of one date is
    one set of messages however many questions hold it.
    """
    for index, (line, value) in enumerate(objects(stream), 1):
        if isinstance(value, Rejected):
            yield value
            continue
        question = str(value.get("question_id") or f"question-{index}")
        sessions, dates, ids = (value.get(f"haystack_{part}") for part in ("sessions", "dates", "session_ids"))
        if not (isinstance(sessions, list) and isinstance(dates, list) and isinstance(ids, list)):
            yield Rejected(line, question, "lacks haystack_sessions, haystack_dates or haystack_session_ids")
        elif not len(sessions) == len(dates) == len(ids):
            yield Rejected(
                line, question, f"has {len(sessions)} sessions, {len(dates)} dates and {len(ids)} session ids"
            )
        else:
            for session, said, name in zip(sessions, dates, ids, strict=True):
                yield from _longmemeval_session(session, said, str(name), line, question, defaults)


def _longmemeval_session(
    turns: object, said: object, name: str, line: int, question: str, defaults: Defaults
) -> Iterator[Item]:
    where = f"{question} {name}"
    try:
        at = _longmemeval_moment(said, defaults.zone)
    except InvalidInput as error:
        yield Rejected(line, where, str(error))
        return
    if not isinstance(turns, list):
        yield Rejected(line, where, "is not a list of turns")
        return
    for index, turn in enumerate(turns):
        if not isinstance(turn, Mapping):
            yield Rejected(line, f"{where} turn {index}", "is not an object")
            continue
        given = {
            "content": turn.get("content"),
            "role": turn.get("role"),
            "id": f"{name}@{at:%Y-%m-%dT%H:%M}#{index}",
            "session": name,
            "at": at,
        }
        yield record(given, line, f"{where} turn {index}", question)


def _longmemeval_moment(said: object, zone: tzinfo) -> datetime:
    found = _LONGMEMEVAL_DATE.match(said) if isinstance(said, str) else None
    if found is None:
        raise InvalidInput(f"its date {said!r} does not read like '2023/04/10 (Mon) 23:07'")
    year, month, day, hour, minute = (int(part) for part in found.groups())
    return date_of(year, month, day, hour, minute, zone)
