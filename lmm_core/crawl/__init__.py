"""Any folder of markdown, prepared by nobody: found, cut into snippets, indexed, searched."""
