// The domains in which a short name is looked for, such as those of a Pod. Source: resolv.conf(5)

export type SearchList = {
  readonly domains: readonly string[];
  /** A name with so many dots is asked for as it is first. */
  readonly dots: number;
};

/** As glibc. */
const DEFAULT_DOTS = 1;
const MAX_DOTS = 15;
/** In a Pod there are three to six. */
const MAX_DOMAINS = 32;

/** The search list in a text in the form of resolv.conf; the last line of a kind counts. */
export function searchListOf(text: string): SearchList {
  let domains: readonly string[] = [];
  let dots = DEFAULT_DOTS;
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "search" || keyword === "domain") domains = values.slice(0, MAX_DOMAINS);
    const given = keyword === "options" ? values.findLast((value) => /^ndots:\d+$/.test(value)) : undefined;
    if (given !== undefined) dots = Math.min(MAX_DOTS, Number(given.slice("ndots:".length)));
  }
  return { domains: domains.filter((domain) => domain !== "."), dots };
}
