"""What the answer reader is fitted to, as lists of statements beside a question.

    python lab/tools/answer_reader/maker.py FOLDER

From histories come what the product asks about: the hits of a recall. From groups come an older message, some of the newer
ones told against it, and messages about something else, beside the group's two questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from lists import BEGIN, KEPT, LISTS, Label, List, write
from network import write_begin
from recalled import DATA, Asked, Recalled, Row, recalled_by, rows_of

from umi._retrieval.answer_order import passage
from umi.ports.answer_reader import Passage
from umi.providers.answer_reader import Layout, Piece
from umi.providers.local import NUMBERS, LocalEmbedder, installed_folder
from umi.providers.minilm import CLS, SEP, Numbers

_DAY_S: Final = 86_400
_TIMES_TOLD: Final = 2  # how often each question of a group is a list, with other messages and other times between them
_CHANGED: Final = 0.65  # share of a group's lists in which something answers its question anew
_LOOK_ALIKES: Final = (1, 2, 3, 4)  # how many messages that change nothing stand in a group's list
_OTHERS: Final = (0, 1, 2)  # and how many of other groups
_OTHERS_DAYS: Final = (-60.0, 200.0)  # bounds of their time after the older message


class ListMaker:
    """Makes lists.

    Args:
        layout: Cuts texts into tokens.
        seed: Of the choice among a group's messages.
    """

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        self._layout = layout
        self._random = Random(seed)
        self._pieces: dict[Passage, Piece] = {}

    def of_recall(self, asked: Asked) -> Iterator[List]:
        """The hits of a question; nothing where the history does not say what each of them is to it."""
        labels = [label_of(asked, hit) for hit in asked.hits]
        known = [one for one in labels if one is not None]
        if known and len(known) == len(labels):
            text = asked.question["text"]
            pieces = [self._piece(passage(hit.text, hit.speaker, text, hit.matched)) for hit in asked.hits]
            days = tuple(hit.at.timestamp() / _DAY_S for hit in asked.hits)
            yield List(asked.author, self._layout.question(text), tuple(pieces), days, tuple(known))

    def of_group(self, author: str, group: Row, groups: Sequence[Row]) -> Iterator[List]:
        """The older message of a group with some of the others, for its two questions."""
        # Dealt anew: who wrote a group may have let look-alikes follow soon and changes late.
        days = [new["days"] or 0 for new in group["news"]]
        now, still = group["now"], group["still"]
        for text, outdated_by in ((now["text"], now["outdated_by"]), (still, [])):
            for _ in range(_TIMES_TOLD):
                self._random.shuffle(days)
                yield self._group_list(author, group, groups, text, outdated_by, days)

    def _group_list(
        self, author: str, group: Row, groups: Sequence[Row], text: str, outdated_by: Sequence[int], days: list[float]
    ) -> List:
        draw = self._random
        others = [place for place in range(len(group["news"])) if place not in outdated_by]
        draw.shuffle(others)
        new = draw.choice(outdated_by) if outdated_by and draw.random() < _CHANGED else None
        told = [(group["old"], 0.0, Label.ANSWER if new is None else Label.OUTDATED)]
        told += [(group["news"][place], days[place], Label.OTHER) for place in others[: draw.choice(_LOOK_ALIKES)]]
        if new is not None:
            told.append((group["news"][new], days[new], Label.ANSWER))
        for other in draw.sample(groups, min(len(groups), draw.choice(_OTHERS))):
            if other is not group:
                message = draw.choice([other["old"], *other["news"]])
                told.append((message, draw.uniform(*_OTHERS_DAYS), Label.OTHER))
        pieces = tuple(self._piece(passage(one["text"], one["speaker"], text)) for one, _, _ in told)
        times, labels = (tuple(row[column] for row in told) for column in (1, 2))
        return List(author, self._layout.question(text), pieces, times, labels, from_group=True)

    def _piece(self, said: Passage) -> Piece:
        if said not in self._pieces:
            self._pieces[said] = self._layout.piece(said)
        return self._pieces[said]


def label_of(asked: Asked, hit: Recalled) -> Label | None:
    """What a hit is to a question; None where nobody has said so.

    A question of `asked/` names the messages that answer it and those that did once. Of others an answer holds all words that are
    wanted; what holds words that are banned, and not those, is outdated.
    """
    question, text = asked.question, hit.text.lower()
    if question["kind"] == "asked":
        if hit.place[0] != asked.history:
            return Label.OTHER
        if hit.place[1] in question["answer"]:
            return Label.ANSWER
        return Label.OUTDATED if hit.place[1] in question["outdated"] else Label.OTHER
    if question["kind"] == "absent":
        return Label.OTHER
    if question["kind"] not in {"now", "then", "event"}:
        return None
    want, ban = question.get("want") or [], question.get("ban") or []
    if want and all(word in text for word in want):
        return Label.ANSWER
    return Label.OUTDATED if any(word in text for word in ban) else Label.OTHER


def write_begin_for(path: Path, lists: Sequence[List]) -> None:
    """Keep the weights from which a fit to some lists begins."""
    used = {0, CLS, SEP}
    for one in lists:
        used.update(one.question, *(piece.ids for piece in one.pieces))
    data = np.memmap(installed_folder() / NUMBERS, dtype="<f4", mode="r")
    write_begin(path, Numbers(np.asarray(data)), sorted(used))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", default=KEPT, help="authors that are left out, with commas between")
    args = parser.parse_args()
    without = args.without.split(",")
    tokenizer = LocalEmbedder()._load().tokenizer  # noqa: SLF001 - the same tokenizer as the reader's
    maker, found = ListMaker(Layout(tokenizer)), list[List]()
    for path in sorted((DATA / "histories").glob("*.jsonl")):
        if path.stem not in without:
            found += [one for asked in recalled_by(path.stem) for one in maker.of_recall(asked)]
            print(f"recalled for {path.stem}: {len(found):,} lists", flush=True)
    for path in sorted((DATA / "groups").glob("*.jsonl")):
        if path.stem not in without:
            groups = rows_of(path)
            found += [one for group in groups for one in maker.of_group(path.stem, group, groups)]
    args.folder.mkdir(parents=True, exist_ok=True)
    write(args.folder / LISTS, found)
    write_begin_for(args.folder / BEGIN, found)
    print(f"{len(found):,} lists in {args.folder}")


if __name__ == "__main__":
    main()
