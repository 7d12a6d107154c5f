# SPDX-License-Identifier: MIT
"""What the tests of the binding are made with."""
