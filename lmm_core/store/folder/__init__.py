"""What is ours in a folder of collections, beside the engine's files: records, what is written ahead, and room."""
