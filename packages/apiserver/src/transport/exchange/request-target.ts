// Parses the target of a request into path and query.
// Source: RFC 9112, section 3.2

export type RequestTarget = { readonly path: string; readonly query: string };

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Undefined for targets that name no path (`*`, an authority) or hold a fragment, which no client sends. */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  if (target.includes("#")) return undefined;
  const origin = target.startsWith("/") ? target : target.replace(ABSOLUTE_FORM, "");
  const at = origin.indexOf("?");
  const path = at < 0 ? origin : origin.slice(0, at);
  const query = at < 0 ? "" : origin.slice(at + 1);
  if (path.startsWith("/")) return { path, query };
  return path === "" && origin !== target ? { path: "/", query } : undefined;
}
