"""The commands for questions to the notes: answers, a server for students, and measures of both."""
