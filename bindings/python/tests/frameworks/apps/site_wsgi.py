# SPDX-License-Identifier: MIT
"""What gunicorn runs: the settings of the document, and those that every site has."""

import settings
from django.conf import settings as configured
from django.core.wsgi import get_wsgi_application

configured.configure(
    **{name: value for name, value in vars(settings).items() if name.isupper()},
    SECRET_KEY="of tests",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="site_urls",
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
)
application = get_wsgi_application()
