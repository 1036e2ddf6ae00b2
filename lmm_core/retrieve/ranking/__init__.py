"""The ranking of passages and sections: by their words, and of several results as one."""
