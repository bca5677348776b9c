"""What the clients offer of each vocabulary beside the core: one file each, blocking and awaited."""
