#!/bin/sh
# Make a course site that answers from a folder of notes: set up, render, check that nothing
# leaks, refresh the index. Use Quarto if it is installed, else pandoc.
#
#     sh docs/course.sh FOLDER [OUTPUT]     (OUTPUT: as in the folder's _quarto.yml, else _book)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: course.sh FOLDER [OUTPUT]}"
work=

say() { printf '\n%s\n' "$*"; }

# Make a page without Quarto. Pandoc 3 takes a cell's fence, ```{python}, for text, so a copy
# gets a plain fence instead.
page() {
    case $1 in
        *.qmd)
            sed 's/^\(```*\) *{\([a-z]*\)[^}]*} *$/\1\2/' "$1" > "$work/page.md"
            set -- "$work/page.md" "$1"
            ;;
    esac
    html="$output/$(basename "${2:-$1}" | sed 's/\.[a-z]*$//').html"
    pandoc -F lmm-knit --citeproc --mathml --toc -s --css page.css \
        -M pagetitle="$(basename "$html" .html)" "$1" -o "$html"
    echo "  $html"
}

say "Set up (lmm init --quarto, lmm quarto check):"
lmm init --quarto
lmm quarto check
output=${2:-$(sed -n 's/^ *output-dir: *\([^ #]*\).*/\1/p' _quarto.yml | sed 1q)}
output=${output:-_book}

# The folder may be somebody else's: what it says must not lead out of it. What you say may.
leads_out() {
    case $1 in /* | .. | ../* | */.. | */../*) return 0 ;; esac
    [ -e "$1" ] || [ -L "$1" ] || return 1
    case $(realpath "$1") in "$(pwd -P)"/*) return 1 ;; esac
}
if [ $# -lt 2 ] && leads_out "$output"; then
    echo "output-dir: $output leads out of the folder: name it (sh docs/course.sh $1 OUTPUT)" >&2
    exit 1
fi

if command -v quarto > /dev/null; then
    say "Render (quarto render), look for leaks, refresh the index:"
    quarto render
else
    say "Render (pandoc -F lmm-knit; Quarto is not installed):"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$output"
    cp "$here/page.css" "$output/page.css"
    set --
    for file in *.md *.qmd; do
        case $file in README.md | "*.md" | "*.qmd") continue ;; esac
        if leads_out "$file" || ! [ -e "$file" ]; then
            echo "$file: a link out of the folder, or to nothing: left out" >&2
            continue
        fi
        page "$file"
        set -- "$@" "$html"
    done
    if [ -d figures ] && ! leads_out figures; then
        cp -RP figures "$output/"
        find "$output/figures" -type l -exec rm {} +  # a link in a site may publish anything
    fi
    say "Refresh the ask box, look for leaks, refresh the index (lmm quarto post-render):"
    QUARTO_PROJECT_OUTPUT_FILES=$(printf '%s\n' "$@") QUARTO_PROJECT_OUTPUT_DIR=$output \
        QUARTO_PROJECT_RENDER_ALL=1 lmm quarto post-render
fi

# Once more, whatever the render did, so that what is published is what was checked.
say "Look for what is left out (lmm leak-check $output):"
lmm leak-check "$output"
