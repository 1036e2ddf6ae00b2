"""A document between pandoc and a filter.

`call` describes pandoc's call, `source` finds the text, `document` reads, `write_text` and `write_elements` write. May
import `lmm_core`, and of the filters `errors` alone."""
