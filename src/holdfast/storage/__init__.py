"""Storage. `sealed_store` is the only boundary of readable text; backends hold sealed rows."""
