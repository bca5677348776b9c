"""Where memories lie. `sealed` is the only place where readable text meets storage; backends hold sealed rows."""
