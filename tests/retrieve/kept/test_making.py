"""Tables that are brought up to date are the same as those that are made anew, whatever the documents."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.index.passages import build_material
from lmm_core.retrieve.kept.making import Settings, make_tables, update_tables
from lmm_core.retrieve.kept.material import KeptMaterial
from lmm_core.retrieve.kept.tables import Tables
from tests.retrieve.materials import documents, points

ORDER = ["b.md", "a.md"]
TABLES = ("documents", "said", "passages", "titles", "stems", "words", "whole")


def tables_of(data):
    tables = Tables(data)
    return {table: tables.rows(f"SELECT * FROM {table}") for table in TABLES}


def points_of(texts):
    """The points of documents, each in the file of its name."""
    return [point for name, text in texts.items() for point in points(text, name, size=60)]


FILES = st.dictionaries(st.sampled_from("abcd"), documents(), min_size=1)


@settings(max_examples=60, deadline=None)
@given(FILES, FILES, st.sampled_from([(), ORDER]))
def test_tables_brought_up_to_date_are_as_made_anew(before, after, order):
    given_settings = Settings(order, {"mean": ("average",)}, "en")
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    old = make_tables(build_material(points_of(before), order), given_settings, before)
    new = make_tables(build_material(points_of(after), order), given_settings, after)
    some = build_material(points_of({name: text for name, text in after.items() if name in changed}), order)
    updated = update_tables(Tables(old), some, changed, given_settings, after)
    if updated is None:  # other texts depend on what has changed
        names = [set(Tables(one).whole("names")) for one in (old, new)]
        assert Tables(old).whole("language") != Tables(new).whole("language") or not names[1] <= names[0]
        return
    assert known_names(tables_of(updated)) == known_names(tables_of(new))


def known_names(tables):
    """Tables without what tells which names were asked for, of which an older one knows more."""
    whole = [row for row in tables["whole"] if row[0] != "names"]
    return {**tables, "said": None, "whole": whole}


@settings(max_examples=60, deadline=None)
@given(FILES, st.sampled_from([(), ORDER]))
def test_a_material_is_read_as_it_was_written(texts, order):
    made = build_material(points_of(texts), order)
    kept = KeptMaterial(Tables(make_tables(made, Settings(order, {}, "en"), {})))
    assert list(kept.passages.items()) == list(made.passages.items())
    assert list(kept.sections) == list(made.sections)
    for one, other in zip(kept.walk(), made.walk(), strict=True):
        assert (one.key, one.titles, one.questions, one.summary) == (
            other.key,
            other.titles,
            other.questions,
            other.summary,
        )
        assert one.passages == other.passages
        assert [child.key for child in one.children] == [child.key for child in other.children]
    assert (kept.kinds, kept.languages, dict(kept.titles)) == (made.kinds, made.languages, dict(made.titles))
