# For type checkers: what `__init__.py` loads when it is asked for.
from cepheid.laptop.api import last as last
from cepheid.laptop.api import profile as profile

__version__: str
