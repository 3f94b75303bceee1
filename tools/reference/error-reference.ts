// Compares the reference of errors with the reasons in the source.

/** The reasons that a page explains, in the first column of its tables. */
const explainedReasons = (page: string): ReadonlySet<string> =>
  new Set([...page.matchAll(/^\| `([A-Za-z][A-Za-z_-]*)` \|/gm)].map(([, reason = ""]) => reason));

/** Reasons that only the source has, and reasons that only the page has. */
export function comparedReasons(
  page: string,
  found: ReadonlyMap<string, readonly string[]>,
): { readonly unexplained: readonly string[]; readonly gone: readonly string[] } {
  const explained = explainedReasons(page);
  return {
    unexplained: [...found]
      .filter(([reason]) => !explained.has(reason))
      .map(([reason, files]) => `${reason} (${files})`),
    gone: [...explained].filter((reason) => !found.has(reason)),
  };
}
