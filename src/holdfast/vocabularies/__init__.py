"""The calls that every interface offers, one module per vocabulary."""
