"""The commands of `lmm`, of which only the module of the one that is called is imported."""
