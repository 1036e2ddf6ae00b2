"""Where a text can be cut, and how its parts are joined to pieces of about the wanted size."""
