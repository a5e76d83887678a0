"""What a run came to, to look at: the profile page and the advice on it."""
