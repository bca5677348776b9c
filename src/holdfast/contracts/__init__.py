"""The engine's needs from the outside, as small Protocols over plain values. No implementation lives here."""
