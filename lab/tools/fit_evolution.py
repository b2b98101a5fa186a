"""Fit what judges short messages by their words, and questions: src/umi/_reading/short_messages/linear.npz, and words.txt beside it.

    pip install scikit-learn
    python lab/tools/fit_evolution.py [--write src/umi/_reading/short_messages/linear.npz]

Multinomial logistic regressions over the features of `umi._reading.short_messages.features`: the kind of fact, what a message does with it, the
role of each token, and, with the local embedder's vectors too, what a question asks for. All examples are made from phrases in this repository
(`evolution_examples.py`). Weights are rounded to 8 bits.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from evolution_examples import Example, of_bank, of_chats, of_own, small_words, told_banks, voices
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from umi._reading.short_messages.features import BUCKETS, message_features, role_features, situation, takes_role
from umi.ports.text_reader import ACTS, KINDS, ROLES
from umi.providers.local import LocalEmbedder

FILLS = 3
OWN = 3
CHATS = 2_000
STRENGTH = {"kind": 1.0, "act": 1.0, "ask": 1.0, "role": 1.0}  # inverse of the ridge
DENSE_SCALE = 8.0  # a vector has length 1, a message some hundred features
SPOKEN = 0.25  # share of the messages that are embedded with a speaker in front, as a store does that knows one
NAMES = ("Anna", "Carlos", "Mei", "Sam", "Fatima", "Joel")


def vectors(texts: Sequence[str], cache: str) -> np.ndarray:
    rng = random.Random("speakers")
    said = [f"{rng.choice(NAMES)}: {text}" if rng.random() < SPOKEN else text for text in texts]
    unique = list(dict.fromkeys(said))
    kept = Path(cache) if cache else None
    made: dict[str, np.ndarray] = {}
    if kept and kept.exists():
        with np.load(kept) as old:
            made = dict(zip(old["texts"].tolist(), old["vectors"], strict=True))
    missing = [text for text in unique if text not in made]
    found = asyncio.run(LocalEmbedder().embed_many(missing))
    made.update((text, windows[0].astype(np.float32)) for text, windows in zip(missing, found, strict=True))
    if kept:
        np.savez(kept, texts=np.array(list(made)), vectors=np.stack(list(made.values())))
    return np.stack([made[text] for text in said])


def hashed(rows: Sequence[Sequence[int]]) -> csr_matrix:
    ends = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.array([column for row in rows for column in row])
    return csr_matrix((np.ones(len(columns), dtype=np.float32), columns, ends), shape=(len(rows), BUCKETS))


def fit(
    name: str, classes: Sequence[str], features: csr_matrix, dense: np.ndarray | None, wanted: Sequence[str]
) -> dict[str, np.ndarray]:
    """The weights of one head, rounded."""
    base = name.partition(" ")[0]
    full = features if dense is None else hstack([features, csr_matrix(dense * DENSE_SCALE)]).tocsr()
    order = {one: place for place, one in enumerate(classes)}
    model = LogisticRegression(C=STRENGTH[base], max_iter=200).fit(full, [order[one] for one in wanted])
    weights = np.zeros((full.shape[1], len(classes)))
    bias = np.full(len(classes), -20.0)
    weights[:, model.classes_] = model.coef_.T
    bias[model.classes_] = model.intercept_
    scale = float(np.abs(weights[:BUCKETS]).max() / 127)
    kept = {
        f"{name}.hashed": np.round(weights[:BUCKETS] / scale).astype(np.int8),
        f"{name}.scale": np.float64(scale),
        f"{name}.bias": bias.astype(np.float32),
    }
    if dense is not None:
        kept[f"{name}.dense"] = (weights[BUCKETS:] * DENSE_SCALE).astype(np.float32)
    return kept


def fit_all(examples: Sequence[Example], cache: str = "") -> dict[str, np.ndarray]:
    asked = [one for one in examples if one.asks or one.text.endswith("?")]
    told = [one for one in examples if not one.asks or one.kind == "none"]
    kept = fit(
        "kind by words", KINDS, hashed([message_features(one.tokens) for one in told]), None, [one.kind for one in told]
    )
    takings = [(one.taking, one.act) for one in told] + [(other, "none") for one in told for other in one.others]
    rows = hashed([message_features(taking.meant, situation(taking), taking.kind) for taking, _ in takings])
    kept |= fit("act by words", ACTS, rows, None, [act for _, act in takings])
    rows, wanted = (
        hashed([message_features(one.tokens) for one in asked]),
        [one.kind if one.asks else "none" for one in asked],
    )
    kept |= fit("ask", KINDS, rows, vectors([one.text for one in asked], cache), wanted)
    kept |= fit("ask by words", KINDS, rows, None, wanted)
    features, wanted = [], []
    for one in told:
        for place, token in enumerate(one.taking.tokens):
            if one.act != "none" and takes_role(token, one.kind):
                features.append(role_features(one.taking.tokens, place, one.kind, one.act))
                wanted.append(one.roles[place])
    return kept | fit("role", ROLES, hashed(features), None, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, default=Path("src/umi/_reading/short_messages/linear.npz"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", default="", help="a file that keeps vectors from one fit to the next")
    options = parser.parse_args()
    banks = [*told_banks(), *voices()]
    (options.write.parent / "words.txt").write_text("\n".join(small_words(banks)) + "\n", encoding="utf-8")
    chats = of_chats(options.data / "longmemeval/longmemeval_oracle.json", CHATS)
    examples = [one for bank in banks for one in of_bank(bank, FILLS)] + of_own(OWN) + chats
    kept = fit_all(examples, options.cache)
    with options.write.open("wb") as file:
        np.savez_compressed(file, **kept)
    print(f"{len(examples)} examples, {options.write}: {options.write.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
