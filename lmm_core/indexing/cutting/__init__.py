"""Cut texts and join the parts to chunks of the wanted size."""
