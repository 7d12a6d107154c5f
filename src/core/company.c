/* SPDX-License-Identifier: MIT */
#include "core/company.h"

void shoal__company_look(shoal__company_t *company, uint64_t settled, uint64_t plain)
{
    uint64_t count = settled - company->settled;

    company->plain -= plain;
    company->settled = settled;
    if (count != plain)
        company->looks = 0;
    else if (count > 0 && company->looks < SHOAL__COMPANY_LOOKS)
        company->looks++;
}
