"""Passes over a document: functions from blocks to blocks, without settings and files."""
