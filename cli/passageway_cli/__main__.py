"""`python -m passageway_cli` is `passageway`."""

import sys

from passageway_cli.main import main

sys.exit(main())
