heuristic = None
