"""Model families: each file turns media into feeds and outputs into vectors, and knows no device."""
