"""What the engine needs from the outside, as small Protocols over plain values. No implementation lives here."""
