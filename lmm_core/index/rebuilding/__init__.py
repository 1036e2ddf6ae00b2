"""Making an index anew: in place where it is in a folder, and beside the one in service on a server."""
