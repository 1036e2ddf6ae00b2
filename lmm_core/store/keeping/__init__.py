"""What is kept beside a collection in a folder."""
