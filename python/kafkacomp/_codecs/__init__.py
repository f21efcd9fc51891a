"""What the codec modules share: one-shot functions and file objects."""
