"""What is made of the chunks of a collection, kept beside it until it changes: passages, sections, and their words.

It is in tables, of which a search reads what it needs: some documents, and the words of the question."""
