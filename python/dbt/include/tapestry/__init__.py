"""The dbt project that the adapter brings along: its macros."""

import os

PACKAGE_PATH = os.path.dirname(__file__)
