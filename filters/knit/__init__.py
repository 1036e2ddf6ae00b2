"""Knitting Pandoc's elements, for `lmm-knit` alone."""
