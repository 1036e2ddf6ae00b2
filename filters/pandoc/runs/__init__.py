"""The run of pandoc that a filter is part of: its process, its command line and its files. Inner runs of pandoc."""
