"""The tools that agents have on a library: what they are called, take, do and give."""
