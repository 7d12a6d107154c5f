# SPDX-License-Identifier: MIT
"""What differs between the interpreters that run the tests."""

import sysconfig

#: Is it a free-threaded build? Its collector of cycles comes when memory has grown, in
#: any order, and its allocator keeps more.
IS_FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
