// Reads an Accept header into media ranges, the most wanted one first.
// Source: github.com/munnerz/goautoneg, which k8s.io/apiserver uses

/** One media range of an Accept header. Parameter names and values as sent, but for `q`. */
export type AcceptClause = {
  readonly type: string;
  readonly subtype: string;
  readonly q: number;
  readonly parameters: ReadonlyMap<string, string>;
};

/** Clauses without a subtype are dropped. Higher `q` first, then exact types before wildcards, then as they came. */
export function parseAccept(header: string): readonly AcceptClause[] {
  const clauses = header.split(",").map(parseClause);
  return clauses.filter((clause) => clause !== undefined).sort(byPreference);
}

const wildcards = ({ type, subtype }: AcceptClause): number => (type === "*" ? 2 : 0) + (subtype === "*" ? 1 : 0);

// Array.prototype.sort is stable, so that ties keep the order of the header.
const byPreference = (a: AcceptClause, b: AcceptClause): number => b.q - a.q || wildcards(a) - wildcards(b);

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
