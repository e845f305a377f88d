"""One module for each foreign library that the games can be played through."""
