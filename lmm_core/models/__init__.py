"""Language models behind small protocols."""
