// Reads an Accept header into media ranges, the most wanted one first.
// Source: github.com/munnerz/goautoneg, which k8s.io/apiserver uses

/** One media range of an Accept header. Parameter names and values as sent, but for `q`. */
export type AcceptClause = {
  readonly type: string;
  readonly subtype: string;
  readonly q: number;
  readonly parameters: ReadonlyMap<string, string>;
};

/**
 * Clauses without a subtype are dropped. Each clause moves in front of those before it that it goes before, as upstream inserts
 * them: its order is none that a sort could keep, since an exact type goes before a wildcard of a higher `q` that it came behind.
 */
export function parseAccept(header: string): readonly AcceptClause[] {
  const sorted: AcceptClause[] = [];
  for (const clause of header.split(",").map(parseClause)) {
    if (clause === undefined) continue;
    const before = sorted.findLastIndex((other) => !goesBefore(clause, other));
    sorted.splice(before + 1, 0, clause);
  }
  return sorted;
}

const goesBefore = (a: AcceptClause, b: AcceptClause): boolean =>
  a.q > b.q || (a.type !== "*" && b.type === "*") || (a.subtype !== "*" && b.subtype === "*");

function parseClause(text: string): AcceptClause | undefined {
  const [range = "", ...pairs] = text.split(";");
  const [type = "", subtype, ...rest] = range.split("/").map((part) => part.trim());
  if (rest.length > 0) return undefined;
  if (subtype === undefined || subtype === "") return type === "*" ? clauseOf(type, "*", pairs) : undefined;
  return clauseOf(type, subtype, pairs);
}

function clauseOf(type: string, subtype: string, pairs: readonly string[]): AcceptClause {
  const parameters = new Map<string, string>();
  let q = 1;
  for (const pair of pairs) {
    const [name = "", value, ...rest] = pair.split("=").map((part) => part.trim());
    if (value === undefined || value === "" || rest.length > 0) continue;
    if (name === "q") q = Number.parseFloat(value) || 0;
    else parameters.set(name, value);
  }
  return { type, subtype, q, parameters };
}
