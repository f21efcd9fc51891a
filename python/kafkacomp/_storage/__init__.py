"""Where logs are kept: file systems, names of files in a log directory, discovery of partitions and segments."""

"""Where logs are kept: file systems, names of files in a log directory, discovery of partitions and segments."""
