"""What `thrifty.frontier.scoring` is made of: answers, metrics on arrays, scorers, thresholds."""
