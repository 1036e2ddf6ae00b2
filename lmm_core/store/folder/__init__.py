"""Our files in a folder of collections: records, the write-ahead log, disk space."""
