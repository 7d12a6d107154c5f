# SPDX-License-Identifier: MIT
"""The figures that the Python package must show; see ../README.md."""
