"""Figures of Holdfast, measured on this machine and told as ratios. `python -m bench` runs them all."""
