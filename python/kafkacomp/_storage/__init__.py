"""The storage of logs: file systems, names of files in a log directory, discovery of partitions and segments."""
