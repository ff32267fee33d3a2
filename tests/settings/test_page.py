"""The page of settings, and the form of the web page, say what the table says."""

import re
from pathlib import Path

from engine.apps.settings_page import render
from engine.settings.table import settings_on
from engine.settings.table.surfaces import FORM

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_table_renders() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page == render(), "make it again: python -m engine.apps.settings_page > docs/settings.md"


def test_the_form_has_the_ranges_and_defaults_of_the_table() -> None:
    html = (ROOT / "engine/apps/web/page/index.html").read_text(encoding="utf-8")
    fields = settings_on(FORM)
    inputs = {
        name: dict(re.findall(r'(\w+)="([^"]*)"', tag))
        for tag, name in re.findall(r'(<input [^>]*id="(\w+)"[^>]*>)', html)
    }
    assert float(inputs["komi"]["value"]) == fields["komi"].default
    assert int(inputs["handicap"]["value"]) == fields["handicap"].default
    for name in ("handicap", "seconds"):
        assert float(inputs[name]["max"]) == fields[name].most
    assert float(inputs["handicap"]["min"]) == fields["handicap"].least
    assert float(inputs["seconds"]["min"]) > (fields["seconds"].least or 0)
