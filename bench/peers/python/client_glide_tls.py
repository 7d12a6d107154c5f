# SPDX-License-Identifier: MIT
"""TLS for valkey-glide and valkey-glide-sync, which have the same names."""

from pathlib import Path


def tls_of(module, options):
    if not options.ca:
        return {}
    tls = module.TlsAdvancedConfiguration(
        root_pem_cacerts=Path(options.ca).read_bytes()
    )
    advanced = module.AdvancedGlideClientConfiguration(tls_config=tls)
    return {"use_tls": True, "advanced_config": advanced}
