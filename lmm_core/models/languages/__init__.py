"""The languages of texts: their words in any script, their stems and stop words, and which language a text is in."""
