"""What the Python door offers of each vocabulary beside the core: one file each, blocking and awaited."""
