"""What is known of files that have not changed, so that it is not found out again."""
