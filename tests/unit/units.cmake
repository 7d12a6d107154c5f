# One line per unit: shoal_unit_test(<floor>/<file> [ALSO <floor>/<file> ...] [LIBS ...])
# LIBS shoal_hiredis for the units that stand on hiredis.
