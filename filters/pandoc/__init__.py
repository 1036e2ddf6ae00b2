"""A document between pandoc and a filter, in the order of its way.

`call` knows what pandoc asks for, `source` finds the text, `document` reads, and `write_text` or
`write_elements` hands on. May import `lmm_core`, and of the filters `errors` alone."""
