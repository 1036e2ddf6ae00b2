"""Where a text can be cut, and how its parts are joined to chunks of the wanted size."""
