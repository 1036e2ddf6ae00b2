"""Our files beside the engine's in a folder of collections: records, the write-ahead log, disk space."""
