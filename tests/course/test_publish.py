"""A published site is replaced as a whole, at once, and nothing of the writer's is lost."""

import os
from pathlib import Path

import pytest

from lmm_core.course.publish import Workshop
from lmm_core.errors import CourseError
from lmm_core.logging import ListLogger
from tests.commands import text, write


@pytest.fixture
def course(tmp_path):
    return tmp_path.resolve()


def make(course, words, output="_site", **options):
    """Render and publish a site of one page, and return the warnings."""
    logger = ListLogger()
    shop = Workshop(course, course / output, **options)
    shop.check()
    shop.open()
    write(shop.site / "page.html", words)
    shop.publish(logger)
    shop.close()
    return [report.message for report in logger.reports]


def test_a_site_takes_the_place_of_the_one_before(course):
    write("_site/index.html", "by quarto render")
    assert make(course, "first", may_remove=True) == []
    write("_site/gone.html", "of a page that is gone")
    shop = Workshop(course, course / "_site")
    shop.open()
    write(shop.site / "page.html", "by a run that was killed while it rendered")
    assert make(course, "second") == []
    assert text("_site/page.html") == "second"
    assert not Path("_site/gone.html").exists()
    assert os.listdir(".lmm") == []


def test_what_we_have_not_made_is_kept(course):
    write("docs/thesis.txt", "mine")
    assert "are kept" in make(course, "first", "docs")[0]
    assert text("docs/page.html") == "first"
    assert text(".lmm/course-replaced-1/thesis.txt") == "mine"
    make(course, "second", "docs")
    assert text(".lmm/course-replaced-1/thesis.txt") == "mine"


def test_a_run_that_was_killed_between_two_renames(course):
    """The next run begins by putting the site back, and it is there even if that run fails."""
    make(course, "first")
    shop = Workshop(course, course / "_site")
    shop.open()
    write(shop.site / "page.html", "second")
    (course / "_site").rename(shop.folder / "site.old")
    Workshop(course, course / "_site").open()
    assert text("_site/page.html") == "first"
    assert not (shop.folder / "site.old").exists()


def test_a_repository_is_never_replaced(course):
    write("_site/.git/HEAD", "ref: refs/heads/gh-pages")
    with pytest.raises(CourseError, match="another folder"):
        make(course, "first")
    assert text("_site/.git/HEAD").startswith("ref")


@pytest.mark.parametrize("output", ["..", ".lmm/index"])
def test_folders_that_are_no_site(course, output):
    with pytest.raises(CourseError):
        make(course, "first", output)
