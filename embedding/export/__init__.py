"""Checkpoints to packages. The only owner of torch, transformers and nncf; the running app never imports it."""
