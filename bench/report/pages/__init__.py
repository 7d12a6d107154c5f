# SPDX-License-Identifier: MIT
"""Pages and comparisons made from the JSON of shoal-bench."""
