"""Install: a model from the hub, a mirror or a folder becomes a container that is whole.

`python -m engine.install` is the process that does it, one for each download; `install.run` is the
same for whoever waits for it. Nothing here knows Qt, MLX, or (but for `engine.container.hub`) a
network.
"""
