"""Texts that somebody wrote to break a page: markup, scripts, marks of direction, invisible signs, words without end."""

from __future__ import annotations

import random

_MARKUP = (
    "<script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    "<svg onload=window.hacked=1><animate onbegin=window.hacked=1>",
    "<iframe srcdoc='<script>parent.hacked = 1</script>'></iframe>",
    '<a href="javascript:window.hacked=1">click</a>',
    "</p></div></main><h1>Erased</h1>",
    "<style>* { display: none }</style>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<base href=https://example.org/><form action=https://example.org/><button>Go</button></form>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "${window.hacked = 1} {{constructor.constructor('window.hacked=1')()}} <%= 7*7 %>",
    "<math><mtext></table><mglyph><style><!--</style><img src=x onerror=window.hacked=1>",
    "'\" onfocus=window.hacked=1 autofocus x='\"",
    "`;window.hacked=1;//",
    "&lt;script&gt;window.hacked=1&lt;/script&gt; &#x3c;b&#x3e;",
    '{"__proto__": {"hacked": 1}, "constructor": {"prototype": {"hacked": 1}}}',
    "data:text/html,<script>window.hacked=1</script>",
    "[x](javascript:window.hacked=1) ![](https://example.org/pixel.png)",
)
_MARKS = "\u202e\u202d\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e"
_SIGNS = "aZ09 .,'\"<>&/\\{}[]()`$%#?=;:-_\tأبתש漢字한😀👩‍👩‍👧‍👦éß\u0301\u0336\u20dd"


def texts(count: int, seed: int = 25) -> list[str]:
    """As many distinct texts."""
    chance = random.Random(seed)
    found = [
        *_MARKUP,
        "W" * 1_000_000,
        "\u200b" * 50,
        "\u202e" * 200 + "desrever",
        "a" + "\u0301" * 400,
        "\u2066" * 1000 + "x",
        "." * 5000,
        "My name is \u202eevil\u202c, \x1b[31mred\x1b[0m and \x07loud.",
    ]
    found += [f"I live in {one} and like {one}." for one in _MARKUP]
    while len(found) < count:
        pieces = [chance.choice((_markup, _marked, _noise, _long))(chance) for _ in range(chance.randint(1, 4))]
        found.append("".join(pieces) + f" {len(found)}")
    return found[:count]


def _markup(chance: random.Random) -> str:
    one = chance.choice(_MARKUP)
    return one[: chance.randint(1, len(one))] + chance.choice(_MARKUP)


def _marked(chance: random.Random) -> str:
    return "".join(chance.choice(_MARKS) + chance.choice(_SIGNS) for _ in range(chance.randint(1, 80)))


def _noise(chance: random.Random) -> str:
    return "".join(chance.choice(_SIGNS) for _ in range(chance.randint(1, 200)))


def _long(chance: random.Random) -> str:
    return chance.choice("W𝕏漢\u0336ﷺ") * chance.randint(100, 3000)
