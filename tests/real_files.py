"""Real markdown: the sample that lies here, and the corpora beside the repository, where they are."""

from pathlib import Path

SAMPLE = Path(__file__).parent / "real"
CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
NO_CORPORA = "no corpora beside the repository: real files are those of tests/real alone"


def markdown_files(place):
    """Return the markdown files of a place, sorted; none if it is not there."""
    return sorted(path for path in place.glob("*/**/*") if path.suffix in (".md", ".Rmd", ".qmd"))


def spread(place, number):
    """Return so many of a place's files, evenly spread over the sorted list."""
    files = markdown_files(place)
    return files[:: max(1, len(files) // number)][:number]
