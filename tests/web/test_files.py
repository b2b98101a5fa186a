"""The page's files: every text in both languages, libraries as they were published, styles from the scales, a budget of bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "src" / "umi" / "server" / "web"
KEY = re.compile(r'^  "([^"]+)": "((?:[^"\\]|\\.)*)",$', re.MULTILINE)
USED = re.compile(r"""\bt\("([a-z_.]+)"[,)]""")
HOLE = re.compile(r"\{(\w+)\}")
FIRST_BYTES_MAX = 100_000
ALL_BYTES_MAX = 1_000_000
LATER = ("acts/", "views/", "vendor/cytoscape")


def texts(code: str) -> dict[str, str]:
    return dict(KEY.findall((WEB / "lang" / f"{code}.js").read_text("utf-8")))


def scripts() -> list[Path]:
    return [path for path in WEB.rglob("*.js") if path.parent.name not in {"vendor", "lang"}]


def test_both_languages_say_everything_with_the_same_holes() -> None:
    english, german = texts("en"), texts("de")
    assert len(english) > 100
    assert english.keys() == german.keys()
    assert [key for key in english if set(HOLE.findall(english[key])) != set(HOLE.findall(german[key]))] == []
    for code in ("en", "de"):
        text = (WEB / "lang" / f"{code}.js").read_text("utf-8")
        lines = [line for line in text.splitlines() if line.startswith('  "')]
        assert len(lines) == len(texts(code)), "a text is twice, or not on one line"


def test_every_text_that_a_script_asks_for_is_there() -> None:
    known = texts("en")
    asked = {key for path in scripts() for key in USED.findall(path.read_text("utf-8"))}
    assert len(asked) > 100
    assert [key for key in sorted(asked) if key not in known and f"{key}.other" not in known] == []


def test_libraries_are_as_they_were_published_and_have_their_licence() -> None:
    listed = tomllib.loads((WEB / "vendor" / "VENDOR.toml").read_text("utf-8"))
    assert listed.keys() == {path.name for path in (WEB / "vendor").glob("*.js")}
    for name, told in listed.items():
        assert hashlib.sha256((WEB / "vendor" / name).read_bytes()).hexdigest() == told["sha256"], name
        assert all((WEB / "vendor" / one).is_file() for one in told["licence_files"]), name


def test_no_data_can_become_markup_or_code() -> None:
    for path in scripts():
        text = path.read_text("utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "dangerouslySetInnerHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert word not in text, (path.name, word)


def test_sizes_and_colours_come_from_the_scales() -> None:
    for path in WEB.rglob("*.css"):
        if path.name == "tokens.css":
            continue
        text = path.read_text("utf-8")
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b", text) == [], path.name
        sizes = re.findall(r"font-size:\s*([^;]+);", text)
        assert [one for one in sizes if not one.startswith("var(--type-") and one != "100%"] == [], path.name


def test_the_first_page_and_all_of_it_keep_their_budgets() -> None:
    packed = {
        path.relative_to(WEB).as_posix(): len(gzip.compress(path.read_bytes(), mtime=0))
        for path in WEB.rglob("*")
        if path.suffix in {".js", ".css", ".html", ".svg"}
    }
    first = {name: size for name, size in packed.items() if not name.startswith(LATER)}
    first["views/now.js"] = packed["views/now.js"]
    assert sum(first.values()) <= FIRST_BYTES_MAX, first
    assert sum(packed.values()) <= ALL_BYTES_MAX


def test_scripts_are_well_formed() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here; the browser reads every script in other tests")
    for path in scripts():
        done = subprocess.run(
            [node, "--input-type=module", "--check"],
            input=path.read_text("utf-8"),
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (path.name, done.stderr)


def test_what_is_loaded_first_is_named_in_the_document() -> None:
    document = (WEB / "index.html").read_text("utf-8")
    main = (WEB / "main.js").read_text("utf-8")
    for name in re.findall(r'from "\./([^"]+)"', main):
        assert f'modulepreload" href="/web/{name}"' in document, json.dumps(name)
