"""Libraries of others are, byte for byte, what VENDOR.toml says, with their licences beside them."""

from __future__ import annotations

import hashlib
import tomllib
from importlib.resources import files

VENDOR = files("umi.server").joinpath("web", "vendor")


def test_each_library_has_the_hash_and_the_licence_that_are_written_down() -> None:
    listed = tomllib.loads(VENDOR.joinpath("VENDOR.toml").read_text("utf-8"))
    known = {"VENDOR.toml", *listed}
    for name, about in listed.items():
        assert hashlib.sha256(VENDOR.joinpath(name).read_bytes()).hexdigest() == about["sha256"], name
        assert all(VENDOR.joinpath(one).read_text("utf-8").strip() for one in about["licence_files"]), name
        known.update(about["licence_files"])
    assert {one.name for one in VENDOR.iterdir()} == known
