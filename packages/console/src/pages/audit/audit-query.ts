// The question of the audit page: as the address has it, and as the server takes it.

/** As the address has it: what is absent is the default. */
export type AuditSearch = { readonly [name: string]: string };

/** Changes, the default; what was refused; or everything. */
export const SHOWN = ["changes", "refused", "all"] as const;
export type Shown = (typeof SHOWN)[number];

/** Seconds before now; `0`: the beginning. Other times are RFC 3339. */
export const SINCE = ["3600", "86400", "604800", "1209600", "2592000", "0"] as const;
export const USUAL_SINCE = "86400";

/** Filters that the server takes as they are. */
const TEXTS = ["key", "user", "object", "cluster", "verb"] as const;
/** Bars of the plot. */
const PARTS = 48;

export const shownOf = ({ show }: AuditSearch): Shown => SHOWN.find((each) => each === show) ?? "changes";

/** Whether a part of the time was chosen in the plot. */
export const hasRange = ({ since = "", until = "" }: AuditSearch): boolean =>
  until !== "" || (since !== "" && Number.isNaN(Number(since)));

/** `now`: in milliseconds. Relative times become absolute. */
export function queryOf(search: AuditSearch, now: number): { readonly [parameter: string]: string } {
  const { since = USUAL_SINCE, until = "", pages } = search;
  const shown = shownOf(search);
  const seconds = Number(since);
  const from = Number.isNaN(seconds) ? since : seconds > 0 ? new Date(now - seconds * 1_000).toISOString() : "";
  const given = Object.entries({
    ...Object.fromEntries(TEXTS.map((name) => [name, (search[name] ?? "").trim()])),
    since: from,
    until,
    changes: shown === "changes" ? "true" : "",
    refused: shown === "refused" ? "true" : "",
    // Changes that a person makes in the console are always found.
    pages: shown === "changes" || pages === "true" ? "" : "false",
    parts: String(PARTS),
  });
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}
