"""Languages of texts: words in any script, stems, stop words and recognition."""
