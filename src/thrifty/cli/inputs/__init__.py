"""What a command reads: tables, long and short, files of costs, and the training data of both."""
