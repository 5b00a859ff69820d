"""The multilingual-e5-small model for passageway, as a package.

passageway finds `provide` through the entry point group `passageway.models`.
"""

from passageway_model_e5.provider import ProvidedModel, provide

__all__ = ["ProvidedModel", "provide"]
