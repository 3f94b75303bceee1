// Keeps each value of a header that names an identity or the server, where Node keeps the first or joins them.

import type { RequestHeaders } from "./api-request.ts";

/** Node keeps the first `Authorization` and `Host`, and joins repeated unknown headers by comma, which a group name may hold. */
const isIdentityHeader = (name: string): boolean =>
  name === "authorization" || name === "host" || name.startsWith("impersonate") || name.startsWith("x-remote-");

const LOWER_CASE_BIT = 0x20;
const INITIALS: readonly number[] = ["a", "h", "i", "x"].map((letter) => letter.charCodeAt(0));

/** `headers` with a list for each of these headers that was sent more than once. `rawHeaders` alternates names and values. */
export function withRepeatedHeaders(headers: RequestHeaders, rawHeaders: readonly string[]): RequestHeaders {
  let values: Map<string, string[]> | undefined;
  let repeated = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] ?? "";
    if (!INITIALS.includes(raw.charCodeAt(0) | LOWER_CASE_BIT)) continue;
    const name = raw.toLowerCase();
    if (!isIdentityHeader(name)) continue;
    values ??= new Map();
    const sofar = values.get(name);
    if (sofar === undefined) values.set(name, [rawHeaders[at + 1] ?? ""]);
    else {
      sofar.push(rawHeaders[at + 1] ?? "");
      repeated = true;
    }
  }
  if (values === undefined || !repeated) return headers;
  return { ...headers, ...Object.fromEntries([...values].filter(([, list]) => list.length > 1)) };
}
