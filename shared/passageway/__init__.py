"""passageway: the right passage from your own sources, or nothing.

This package holds what the services share: settings, configuration, the two protocols, the index file. It imports no
service.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("passageway")
except PackageNotFoundError:  # a bare source tree on the path
    __version__ = "0+unknown"
