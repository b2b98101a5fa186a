"""Fit the reader of short messages: src/umi/pipelines/gist/reader.npz, and words.txt beside it.

    pip install scikit-learn
    python scripts/fit_evolution.py [--banks first,second] [--write src/umi/pipelines/gist/reader.npz]

Multinomial logistic regressions over the features of `umi.pipelines.gist.marks` and the local embedder's vectors: the kind of fact, what
a message does with it, what a question asks for, and the role of each token. All examples are made from phrases in this repository
(`evolution_examples.py`). Weights are rounded to 8 bits.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from evolution_examples import Example, of_bank, of_chats, of_own, small_words
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.linear_model import LogisticRegression

from umi.pipelines.gist.marks import BUCKETS, meant, message_features, role_features, takes_role
from umi.pipelines.gist.model import ACTS, KINDS, ROLES
from umi.providers.local import LocalEmbedder

FILLS = 4
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
    made = vectors([one.text for one in examples], cache)
    row = {id(one): made[place] for place, one in enumerate(examples)}
    kept: dict[str, np.ndarray] = {}
    heads: tuple[
        tuple[str, Sequence[str], Sequence[Example], Callable[[Example], Sequence[int]], Callable[[Example], str]], ...
    ] = (
        ("kind", KINDS, told, lambda one: message_features(one.tokens), lambda one: one.kind),
        (
            "act",
            ACTS,
            told,
            lambda one: message_features(meant(one.marked, one.start), one.met, one.about),
            lambda one: one.act,
        ),
        ("ask", KINDS, asked, lambda one: message_features(one.tokens), lambda one: one.kind if one.asks else "none"),
    )
    for name, classes, some, features, label in heads:
        rows = hashed([features(one) for one in some])
        dense = np.stack([row[id(one)] for one in some])
        wanted = [label(one) for one in some]
        if name == "act":
            other = [(one, tokens, met) for one in some for tokens, met in one.others]
            rows = vstack(
                [rows, hashed([message_features(tokens, met, one.about) for one, tokens, met in other])]
            ).tocsr()
            dense = np.concatenate([dense, np.stack([row[id(one)] for one, _, _ in other])])
            wanted += ["none"] * len(other)
        kept |= fit(name, classes, rows, dense, wanted)
        kept |= fit(f"{name} by words", classes, rows, None, wanted)
    rows, wanted = [], []
    for one in told:
        for place, token in enumerate(one.marked):
            if one.act != "none" and takes_role(token, one.kind):
                rows.append(role_features(one.marked, place, one.kind, one.act))
                wanted.append(one.roles[place])
    return kept | fit("role", ROLES, hashed(rows), None, wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--banks", default="first,second,third")
    parser.add_argument("--write", type=Path, default=Path("src/umi/pipelines/gist/reader.npz"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", default="", help="a file that keeps vectors from one fit to the next")
    options = parser.parse_args()
    banks = [name for name in options.banks.split(",") if name]
    (options.write.parent / "words.txt").write_text("\n".join(small_words(banks)) + "\n", encoding="utf-8")
    chats = of_chats(options.data / "longmemeval/longmemeval_oracle.json", CHATS)
    examples = [one for name in banks for one in of_bank(name, FILLS)] + of_own(OWN) + chats
    kept = fit_all(examples, options.cache)
    with options.write.open("wb") as file:
        np.savez_compressed(file, **kept)
    print(f"{len(examples)} examples, {options.write}: {options.write.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
