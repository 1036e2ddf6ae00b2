"""The text of a course as pages of `lmm serve`, made by pandoc from the notes as they are now."""
