"""The last look of the leak check is the same after it was kept, and numbers stand for the same keys."""

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.quarto.leaks.known.look import Look, Parts, Seen, cut, numbers_of, unpacked

NAMES = st.lists(st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=9), unique=True, max_size=6)
HASHES = st.lists(st.binary(min_size=20, max_size=20), unique=True, max_size=9)


@st.composite
def looks(draw):
    """A look at some documents and texts."""
    names, hashes = draw(NAMES), draw(HASHES)
    numbers = st.lists(st.sampled_from(range(len(names))), max_size=5) if names else st.just([])
    parts = st.lists(st.tuples(st.integers(1, 9999), st.booleans(), numbers), max_size=4)
    included = st.lists(st.tuples(st.booleans(), st.text(max_size=5)).map(list), max_size=2)
    look, middle = Look(names), len(hashes) // 2
    for at, key in enumerate(hashes):
        if at < middle:
            found = draw(parts)
            keys = [number for _, _, some in found for number in some]
            lines, cells = [line for line, *_ in found], bytes(is_cell for _, is_cell, _ in found)
            sizes = [len(some) for *_, some in found]
            look.documents[key] = Parts(numbers_of(lines), cells, numbers_of(sizes), numbers_of(keys), draw(included))
        else:
            about = draw(st.lists(st.text(max_size=5), max_size=2)), draw(st.booleans()), draw(st.booleans())
            look.texts[key] = Seen(numbers_of(sorted({*draw(numbers)})), *about)
    return look


def said(look):
    """What a look says, with keys in place of their numbers."""
    return (
        {
            key: [[look.names[at] for at in some] for some in cut(one.keys, one.sizes)]
            for key, one in look.documents.items()
        },
        {key: ({look.names[at] for at in one.found}, one.about) for key, one in look.texts.items()},
    )


@given(looks())
def test_a_look_is_the_same_after_it_was_kept(look):
    again = unpacked(look.packed())
    assert (again.packed(), again.names, said(again)) == (look.packed(), look.names, said(look))


@given(looks(), st.sets(st.integers(0, 5)))
def test_keys_that_are_no_longer_looked_for_are_forgotten(look, left):
    left = {at for at in left if at < len(look.names)}
    names = {look.names[at] for at in left}
    found = look.only(left)
    documents, texts = said(look)
    assert {*found.names} == names
    assert said(found) == (
        {key: parts for key, parts in documents.items() if {name for some in parts for name in some} <= names},
        {key: (has & names, about) for key, (has, about) in texts.items()},
    )
    assert said(unpacked(found.packed())) == said(found)


def test_a_key_with_a_line_end_is_not_taken_for_two():
    assert unpacked(Look(["one\ntwo", "three"]).packed()) == Look()
