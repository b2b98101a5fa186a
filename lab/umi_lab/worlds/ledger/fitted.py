"""The fitted numbers of a search by words alone, as they were when these worlds were written (ADR 3 and ADR 11).

They are a copy on purpose: a number that changes in the product changes every score, which is for the fit to do and not for a slip. Who fits
anew takes the new ones over here.
"""

from __future__ import annotations

from typing import Final

# Columns: mean, spread, weight, and by how much the weight changes with each of `SIGNALS`. Without an embedder nothing is near
# anything, so what tells of vectors is left out.
SIGNALS: Final = ("first_person", "asks_advice", "names_speaker", "term_count")
SIGNAL_MEANS: Final = (0.3927, -0.2912, 0.5153, 0.2287)
SIGNAL_SPREADS: Final = (0.4884, 0.4064, 0.4998, 0.524)
# fmt: off
LOOKS: Final = {
    "first_look": (-5.9153, 3.5763, 1.3549, (0.0201, -0.0311, -0.0062, 0.0393)),
    "turn": (0.3468, 0.4779, 0.4854, (0.1294, -0.037, -0.0592, 0.1089)),
    "neighbours": (0.4052, 0.5194, 0.2711, (-0.0535, 0.0019, 0.0718, 0.0715)),
    "session": (0.4959, 0.4475, 0.2628, (-0.022, -0.0117, 0.0249, 0.0074)),
    "turn_before": (0.2308, 0.4383, 0.1193, (-0.0974, 0.0568, 0.0581, 0.0221)),
    "turn_after": (0.2255, 0.4342, -0.0015, (0.0096, 0.0545, 0.0118, 0.0017)),
    "period": (0.0234, 0.1392, 0.3733, (-0.0714, -0.0207, 0.0534, 0.0181)),
    "best_neighbour": (-6.2742, 3.8565, 0.2351, (-0.0846, -0.016, 0.0864, -0.0068)),
    "words": (2.8142, 0.339, 0.0552, (-0.0045, 0.0019, 0.0706, 0.2013)),
    "spoken": (0.3601, 0.698, 0.1923, (0.0062, 0.0027, -0.0075, -0.0317)),
    "assistant": (0.0933, 0.2909, -0.0989, (-0.0824, 0.0386, 0.102, -0.0232)),
    "asks": (0.2525, 0.4344, -0.1333, (0.0494, 0.001, -0.0179, 0.0053)),
    "answers": (0.2549, 0.4358, 0.1257, (-0.0834, -0.0054, 0.107, -0.0283)),
    "first_person": (1.5405, 1.2149, 0.1061, (-0.018, -0.0892, 0.082, -0.0028)),
    "times": (0.4341, 0.8904, 0.064, (-0.0528, -0.0901, 0.0563, 0.0476)),
    "amounts": (0.9218, 1.5919, 0.0148, (-0.0064, 0.0463, 0.0077, -0.0256)),
    "opens": (0.0759, 0.2648, 0.1406, (0.0104, -0.0944, -0.0196, 0.021)),
    "closes": (0.0778, 0.2679, -0.0339, (0.0055, -0.014, 0.0208, -0.0065)),
}
# fmt: on

# The first look: weights of words (length), of who spoke, and of a neighbour beside the session.
WORDS: Final = -0.053
SPOKEN: Final = 0.61
NEIGHBOURS_SHARE: Final = 0.31
# Of 1, the four signals, and of how far the nearest vector stands out, which is -1 where there is none.
TEXT: Final = (0.861, -0.008, -0.385, 0.428, 0.569, -0.328)
CONTEXT: Final = (1.053, -0.609, -0.031, 0.498, -0.266, 0.275)
# Whether there is an answer at all, by what is known of the question and of its best message.
ANSWERABLE: Final = {
    "one": 0.59,
    "top_score": 0.545,
    "best_coverage": 2.535,
    "first_person": -0.019,
    "asks_advice": 1.829,
    "log_size": -1.105,
    "stranger": -3.608,
}
HIT: Final = (-1.121, 0.561, 0.516)  # bias, weight of those log-odds, weight of the logarithm of a hit's share
ABSTAIN_BELOW: Final = 0.24
KEEP_FROM: Final = 0.022
# A statement beside its message, in log-odds: for words that the message lacks, and for what is only wished or supposed.
NAMED: Final = 1.0
UNREAL: Final = -1.0
