# SPDX-License-Identifier: MIT
"""The process that is measured: one client, one load. It imports nothing that the load
does not need, and runs with ../../../peers/python in its path."""
