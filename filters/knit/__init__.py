"""`lmm-knit` on Pandoc's elements, and its checks. May import `lmm_core`, and of the filters `errors` and `pandoc`."""
