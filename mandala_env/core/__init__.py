"""What every game shares; nothing here knows a game."""
