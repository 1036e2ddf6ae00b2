"""Projects that say what is left out in many places: by name, their files, and for each page
the classes that Quarto leaves out of it.

The pages are `index.qmd` and `part/a.qmd`, and hold a div of each class. What a file says is
`lmm: div-types: [CLASS]`, where nothing else is written."""

CLASSES = ("aa", "bb", "cc", "dd")
PAGES = ("index.qmd", "part/a.qmd")
PROJECT = "project: {type: website, output-dir: _site}\nformat: {html: {toc: false}}\nfilters: [lmm]\n"


def says(*classes):
    return f"lmm: {{div-types: [{', '.join(classes)}], index: false}}\n"


CASES = {
    "the project's file": ({"_quarto.yml": PROJECT + says("aa")}, "aa", "aa"),
    "a file that it names": (
        {"_quarto.yml": PROJECT + "metadata-files: [more.yml, missing.yml]\n", "more.yml": says("aa")},
        "aa",
        "aa",
    ),
    "one file that it names, beside its own words": (
        {"_quarto.yml": PROJECT + says("aa") + "metadata-file: more.yml\n", "more.yml": says("bb")},
        "aa bb",
        "aa bb",
    ),
    "a profile that ends .yaml": (
        {"_quarto.yml": PROJECT + "profile: {default: night}\n", "_quarto-night.yaml": says("aa")},
        "aa",
        "aa",
    ),
    "the first of a group": (
        {
            "_quarto.yml": PROJECT + "profile: {group: [[day, night], [big, small]]}\n",
            "_quarto-day.yml": says("aa"),
            "_quarto-night.yml": says("bb"),
            "_quarto-big.yml": says("cc"),
        },
        "aa cc",
        "aa cc",
    ),
    "the local file": (
        {
            "_quarto.yml": PROJECT + "profile: {default: day}\n",
            "_quarto.yml.local": says("cc"),
            "_quarto-day.yml": says("aa"),
        },
        "aa cc",
        "aa cc",
    ),
    "a file that a profile names": (
        {
            "_quarto.yml": PROJECT + "profile: {default: day}\n",
            "_quarto-day.yml": "metadata-files: [more.yml]\n",
            "more.yml": says("aa"),
        },
        "aa",
        "aa",
    ),
    "folders: the outermost is for its own documents": (
        {"_quarto.yml": PROJECT + says("aa"), "_metadata.yml": says("bb"), "part/_metadata.yaml": says("cc")},
        "aa bb",
        "aa cc",
    ),
    "a file that a folder names": (
        {
            "_quarto.yml": PROJECT,
            "part/_metadata.yml": "metadata-files: [more.yml]\n",
            "part/more.yml": says("aa"),
        },
        "",
        "aa",
    ),
    "a file that a header names": (
        {"_quarto.yml": PROJECT, "part/more.yml": says("aa"), "header": "metadata-files: [more.yml]\n"},
        "",
        "aa",
    ),
}


def files_of(case):
    """The files of a case with its pages. `header` is what the second page's header says."""
    files = dict(CASES[case][0])
    header = files.pop("header", "")
    body = "".join(f"\n::: {name}\nThe secret of {name} is a number.\n:::\n" for name in CLASSES)
    for page in PAGES:
        own = header if page == "part/a.qmd" else ""
        files[page] = f"---\ntitle: A page\n{own}---\n\nA page that says little.\n{body}"
    return files


def left_out(case):
    """The classes that Quarto leaves out of each page."""
    return {page: set(words.split()) for page, words in zip(PAGES, CASES[case][1:], strict=True)}
