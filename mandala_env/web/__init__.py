"""A web page to play on: a server that knows the rules, and one static page that shows what a seat may see."""
