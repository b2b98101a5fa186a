"""Each limit at its value and one over, wrong types, broken Unicode: a typed error that names limit, value and cure."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from umi import DetectionOptions, EvolutionError, InvalidInput, InvalidOptions, Message, limits
from umi._core import validate


def test_text_of_exactly_the_limit_is_taken() -> None:
    assert validate.text("x" * limits.TEXT_BYTES_MAX)


def test_text_one_byte_over_names_limit_and_value() -> None:
    with pytest.raises(InvalidInput, match=r"1,000,001 bytes, the limit is 1,000,000; split it"):
        validate.text("x" * (limits.TEXT_BYTES_MAX + 1))


def test_bytes_count_and_not_characters() -> None:
    assert validate.text("é" * (limits.TEXT_BYTES_MAX // 2))
    with pytest.raises(InvalidInput, match="bytes"):
        validate.text("é" * (limits.TEXT_BYTES_MAX // 2 + 1))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "blank"),
        (" \n\t", "blank"),
        ("a\0b", "NUL at character 1"),
        ("ab\ud800", "lone surrogate at character 2"),
        (b"bytes", "must be a str, got bytes"),
        (None, "must be a str, got NoneType"),
        (7, "must be a str, got int"),
    ],
    ids=["empty", "blank", "nul", "surrogate", "bytes", "none", "int"],
)
def test_bad_text(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        validate.text(value)


def test_names_have_their_own_limit() -> None:
    assert validate.name("n" * limits.NAME_BYTES_MAX, "speaker")
    with pytest.raises(InvalidInput, match="speaker has 257 bytes, the limit is 256"):
        validate.name("n" * (limits.NAME_BYTES_MAX + 1), "speaker")


def test_a_naive_time_is_refused_with_the_cure() -> None:
    with pytest.raises(InvalidInput, match=r"naive .* tzinfo=datetime\.UTC"):
        validate.when(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-01T07:30Z",
        "2026-05-01T09:30+02:00",
        " 2026-05-01 07:30:00+00:00\n",
        "20260501T0730Z",
        "2026-W18-5T07:30Z",
    ],
)
def test_a_moment_as_text(text: str) -> None:
    assert validate.when(text) == datetime(2026, 5, 1, 7, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-05-01T09:30", r"as_of '2026-05-01T09:30' has no zone; add Z for UTC, or an offset: 2026-05-01T09:30Z"),
        ("2026-05-01", r"'2026-05-01' is a date without a time and a zone; add .* 2026-05-01T00:00Z"),
        ("yesterday", r"as_of 'yesterday' is not a moment in ISO 8601; write it as 2026-05-01T09:30Z"),
        ("", "not a moment"),
        ("2026-13-01T00:00Z", "not a moment"),
        ("0001-01-01T00:00+14:00", "out of range"),
        ("x" * 1_000, "x{79}"),
    ],
)
def test_a_text_that_names_no_moment_is_refused_with_the_cure(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        validate.when(text, "as_of")


def test_what_is_neither_a_datetime_nor_a_text() -> None:
    for bad in (7, 1.5, b"2026-05-01T07:30Z", ["2026"]):
        with pytest.raises(InvalidInput, match="at must be a datetime or a text in ISO 8601"):
            validate.when(bad)


def test_messages_may_give_their_time_as_text() -> None:
    at = datetime(2026, 5, 1, 7, 30, tzinfo=UTC)
    assert validate.check_message({"content": "hi", "at": "2026-05-01T09:30+02:00"}).at == at
    assert validate.check_message(Message("hi", at="2026-05-01T07:30Z")).at == at
    with pytest.raises(InvalidInput, match="no zone"):
        validate.check_message(Message("hi", at="2026-05-01T07:30"))


def test_metadata_at_the_limit_and_over() -> None:
    room = limits.METADATA_BYTES_MAX - len('{"k":""}')
    assert validate.metadata({"k": "v" * room})
    with pytest.raises(InvalidInput, match="65,537 bytes as JSON, the limit is 65,536"):
        validate.metadata({"k": "v" * (room + 1)})


@pytest.mark.parametrize("value", [{"k": object()}, {"k": float("nan")}, ["k"], "k", {"k": "\ud800"}])
def test_metadata_that_json_cannot_carry(value: object) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        validate.metadata(value)


@pytest.mark.parametrize("value", [{1: "a", "1": "b"}, {"in": [{"null": 1, None: 2}]}, {True: 1, "true": 2}])
def test_metadata_keys_that_are_one_in_json(value: dict[object, object]) -> None:
    with pytest.raises(InvalidInput, match=r"two keys that are both '(1|null|true)' in JSON; rename one"):
        validate.metadata(value)


def test_metadata_is_copied() -> None:
    mine = {"tags": ["a"]}
    kept = validate.metadata(mine)
    mine["tags"].append("b")
    assert kept == {"tags": ["a"]}


def test_metadata_at_the_deepest_level_and_below() -> None:
    def nested(levels: int) -> dict[str, object]:
        return {"k": [nested(levels - 2)]} if levels > 2 else {"k": []} if levels == 2 else {}

    most = limits.METADATA_LEVELS_COUNT_MAX
    assert validate.metadata(nested(most)) == nested(most)
    with pytest.raises(InvalidInput, match=f"{most + 1} levels deep, the limit is {most}") as caught:
        validate.metadata({"k": nested(most)})
    assert (caught.value.limit, caught.value.value) == (most, most + 1)


def test_metadata_nested_past_reason() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="nested"):
        validate.metadata({"k": deep})


@pytest.mark.parametrize("value", [True, 1.0, "3", None])
def test_count_wants_a_whole_number(value: object) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        validate.count(value, "limit", low=1, high=10)


@pytest.mark.parametrize("value", [0, 11])
def test_count_out_of_range(value: int) -> None:
    with pytest.raises(InvalidInput, match=rf"limit is {value}, it must lie in 1\.\.10"):
        validate.count(value, "limit", low=1, high=10)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "0.5", True])
def test_fraction(value: object) -> None:
    with pytest.raises(InvalidInput, match="min_score"):
        validate.fraction(value, "min_score")


@pytest.mark.parametrize(
    "options",
    [
        DetectionOptions(-0.1),
        DetectionOptions(1.1),
        DetectionOptions(max_comparisons=0),
        DetectionOptions(max_comparisons=11),
    ],
)
def test_detection_options_of_the_seeds(options: DetectionOptions) -> None:
    with pytest.raises(EvolutionError.InvalidOptions):
        validate.detection_options(options)
    assert issubclass(InvalidOptions, InvalidInput)


def test_detection_options_at_their_bounds() -> None:
    for options in (DetectionOptions(0, 1), DetectionOptions(1, 10)):
        assert validate.detection_options(options) is options


def test_messages_in_every_shape() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    assert validate.check_message("hi") == Message("hi")
    assert validate.check_message({"role": "assistant", "content": "hi"}) == Message("hi", role="assistant")
    assert validate.check_message(Message("hi", speaker="Ann"), {"speaker": "Bob", "at": at}) == Message(
        "hi", speaker="Ann", at=at
    )


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"text": "hi"}, "needs 'content'; this one has text"),
        ({"content": "hi", "name": "x"}, "no field name; put it into 'metadata'"),
        ({"content": "hi", "role": ""}, "role is blank"),
        (7, "got int"),
        ({"content": None}, "content must be a str"),
    ],
)
def test_bad_messages(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        validate.check_message(value)


def test_time_range() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    assert validate.time_range((early, late)) == (early, late)
    assert validate.time_range(("2026-01-01T00:00Z", late)) == (early, late)
    for bad in ((late, early), (early, early), (early,), "ab", (early, "x")):
        with pytest.raises(InvalidInput):
            validate.time_range(bad)
