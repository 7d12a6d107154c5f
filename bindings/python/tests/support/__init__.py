# SPDX-License-Identifier: MIT
"""Tools of the binding's tests."""
