/* SPDX-License-Identifier: MIT */
#include "html_page.h"

#include <shoal/version.h>

/* Whatever colour vision a reader has, the main colours stay apart, by their lightness
 * if not by their hue: blue for auto, greys for off and raw, amber for pauses, pink, red
 * and green for clients without shoal.  Shades of amber and green go by the number in the
 * name. */
static const char *const light_colors =
    "color-scheme:light dark;--page:#fff;--card:#f6f8fa;--ink:#1b2430;--soft:#566070;"
    "--grid:#e4e8ed;--base:#9aa4b1;--warn:#fdf1d6;--auto:#0b57d0;--off:#343638;"
    "--pool:#eb6ac7;--collector:#b46351;--raw:#5f666f;--fixed-0:#d9b36a;"
    "--fixed-1:#bd9240;--fixed-2:#966d1e;--fixed-3:#755110;--fixed-4:#543807;"
    "--explicit-0:#8fd3bf;--explicit-1:#67bda4;--explicit-2:#43a88c;"
    "--explicit-3:#2a8069;--explicit-4:#185a48;--reason-0:#99ddff;--reason-1:#ee8866;"
    "--reason-2:#77aadd;--reason-3:#44bb99;--reason-4:#eedd88;--reason-5:#c9ced6;"
    "--reason-6:#ffaabb;--reason-7:#aaaa00;--reason-8:#bbcc33;";
static const char *const dark_colors =
    "--page:#12161b;--card:#1a2027;--ink:#e6eaf0;--soft:#9aa6b5;--grid:#29313b;"
    "--base:#5b6675;--warn:#3a3015;--auto:#6aa8ff;--off:#74787c;--pool:#c473ae;"
    "--collector:#ec9c8b;--raw:#b1bac6;--fixed-0:#fde2a8;--fixed-1:#f9d285;"
    "--fixed-2:#f7c563;--fixed-3:#d9a544;--fixed-4:#b58530;--explicit-0:#c4fff0;"
    "--explicit-1:#a5fbe4;--explicit-2:#88f7d9;--explicit-3:#58cfb0;"
    "--explicit-4:#38a589;";

static const char *const page_rules =
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:980px;padding:28px 16px 60px;background:var(--page);"
    "color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "\"Helvetica Neue\",Arial,sans-serif}"
    "h1{font-size:26px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}"
    "h2{font-size:19px;margin:44px 0 4px}"
    "h3{font-size:15px;margin:26px 0 6px}"
    "p{margin:4px 0 12px;max-width:72ch}"
    ".soft,.reading{color:var(--soft)}"
    "code,pre{font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    "pre{background:var(--card);border-radius:8px;padding:12px 14px;"
    "white-space:pre-wrap;overflow-wrap:anywhere}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;"
    "background:var(--card);border-radius:8px;padding:14px 16px;margin:18px 0}"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}"
    ".warn{background:var(--warn);border-radius:8px;padding:10px 16px;max-width:none}"
    ".panels{display:grid;gap:22px 30px;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))}"
    "figure{margin:8px 0 0;min-width:0}"
    "figcaption{font-weight:600;font-size:14px;margin-bottom:6px}"
    ".wide{overflow-x:auto;margin:6px 0 20px}"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}"
    "th,td{padding:4px 9px;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--grid)}"
    "th{font-weight:500;color:var(--soft);vertical-align:bottom}"
    "th:first-child{text-align:left;position:sticky;left:0;background:var(--page)}"
    "tbody th{color:var(--ink)}"
    "tr.strong th,tr.strong td,th.strong,td.strong{font-weight:650}"
    "td.strong,th.strong{color:var(--ink);background:var(--card)}"
    ".legend{list-style:none;padding:0;margin:8px 0 0}"
    ".legend li{padding-left:38px;text-indent:-38px;margin:3px 0}"
    ".legend b{font-weight:550}.legend .strong b{font-weight:700}"
    "svg.swatch{display:inline-block;width:26px;height:12px;margin-right:12px}"
    "td.heat{min-width:50px;padding:4px 5px;text-align:center;background:"
    "color-mix(in srgb,var(--auto) calc(var(--h)*1%),var(--page))}"
    "@media(max-width:560px){body{padding:18px 14px 40px}h1{font-size:22px}"
    "dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:8px}}"
    "@media print{body{max-width:none;font-size:12px;padding:0}"
    ".wide{overflow:visible}table{font-size:7pt}th,td{padding:2px 4px}"
    ".panels{grid-template-columns:1fr 1fr;gap:14px 20px}"
    ".heat,.warn,dl{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "figure,tr,pre,dl{break-inside:avoid}h2,h3,.reading{break-after:avoid}}";

static const char *const chart_rules =
    "svg{display:block;width:100%;height:auto;font-size:12px;"
    "font-variant-numeric:tabular-nums}"
    "svg text{fill:var(--ink)}"
    "svg .tick{fill:var(--soft)}svg .axis{fill:var(--soft)}"
    "svg .small{font-size:10.5px;fill:var(--soft)}svg .inside{fill:#16202c}"
    ".grid{stroke:var(--grid);stroke-width:1;fill:none}"
    ".base{stroke:var(--base);stroke-width:1;fill:none}"
    ".line{stroke:var(--c);stroke-width:1.7;fill:none;stroke-linejoin:round}"
    ".dashed{stroke-dasharray:5 3}"
    ".mark{fill:var(--c);stroke:var(--page);stroke-width:1}"
    ".key .mark{fill:var(--soft)}"
    ".whisker{stroke:var(--c);stroke-width:1.2;opacity:.5;fill:none}"
    ".over{stroke:var(--ink);stroke-width:1.4;opacity:.8}"
    ".leader{stroke:var(--c);stroke-width:1;opacity:.6;fill:none}"
    ".range{stroke:var(--c);stroke-width:2;opacity:.5;fill:none}"
    ".bar{fill:var(--c,var(--soft))}.second{opacity:.45}"
    ".strong .line{stroke-width:3}svg .strong .label,svg .strong "
    ".value{font-weight:700}"
    "svg .label,svg .value{fill:color-mix(in srgb,var(--c) 55%,var(--ink))}"
    "svg:has(.series:hover) .series:not(:hover){opacity:.22}";

void html_open(FILE *out, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<title>",
          out);
    svg_escape(out, title);
    fprintf(out,
            "</title>\n<style>\n:root{%s}\n"
            "@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s\n%s\n"
            "</style>\n</head>\n<body>\n",
            light_colors, dark_colors, page_rules, chart_rules);
}

void html_close(FILE *out)
{
    fputs(
        "<p class=\"soft\">Written by shoal-bench " SHOAL_VERSION_STRING
        ".  Every figure of this page is of the run that wrote it; do not trust it for "
        "your case, measure yours.</p>\n</body>\n</html>\n",
        out);
}

void html_section_open(FILE *out, const char *heading, const char *reading)
{
    fputs("<section>\n<h2>", out);
    svg_escape(out, heading);
    fprintf(out, "</h2>\n<p class=\"reading\">%s</p>\n<div class=\"panels\">\n",
            reading);
}

void html_section_close(FILE *out)
{
    fputs("</div>\n</section>\n", out);
}

void html_figure_open(FILE *out, const char *title)
{
    fputs("<figure>\n<figcaption>", out);
    svg_escape(out, title);
    fputs("</figcaption>\n", out);
}

void html_figure_close(FILE *out)
{
    fputs("</figure>\n", out);
}
