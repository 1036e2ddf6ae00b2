#!/bin/sh
# Show the main job on a copy of the sample book: annotate, knit, say where to look.
set -eu

demo=${1:-demo}
here=$(cd "$(dirname "$0")/.." && pwd)
sh "$here/docs/copy_book.sh" "$demo"
cd "$demo"

echo "Annotating (pandoc -F lmm-rag FILE -o FILE):"
for file in 0*.md; do
    words=$(wc -w < "$file")
    pandoc -F lmm-rag "$file" -o "$file"
    echo "  $file: $(grep -c '^~questions' "$file") sections with questions, $(grep -c '^~summary' "$file") summaries ($((words)) words)"
done

echo "Knitting lecture notes (pandoc -F lmm-knit FILE -o NOTES):"
mkdir -p notes
ln -sf ../figures notes/figures
for file in 0*.md; do
    notes="notes/${file%.md}.html"
    pandoc -F lmm-knit --citeproc --mathml -s "$file" -o "$notes"
    echo "  $notes"
done

echo
echo "What changed in the text:   git diff --no-index $here/sample-book/01-data.md $PWD/01-data.md"
echo "An annotated chapter:       $PWD/01-data.md"
echo "The lecture notes:          $PWD/notes/01-data.html (no metadata, no exercises)"
echo "An overview of a chapter:   $(command -v lmm) scan $PWD/01-data.md"
