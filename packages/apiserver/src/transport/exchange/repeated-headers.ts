// Keeps each value of a header that names an identity or the server, where Node keeps the first or joins them.

import type { RequestHeaders } from "../api-request.ts";

/** Node keeps the first `Authorization` and `Host`, and joins repeated unknown headers by comma, which a group name may hold. */
const isIdentityHeader = (name: string): boolean =>
  name === "authorization" || name === "host" || name.startsWith("impersonate") || name.startsWith("x-remote-");

const LOWER_CASE_BIT = 0x20;
/** Names that are compared with each other. Requests have two or three; a client may send a thousand long ones. */
const MAX_COMPARED = 16;
const INITIALS: readonly number[] = ["a", "h", "i", "x"].map((letter) => letter.charCodeAt(0));

/** `headers` with a list for each of these headers that was sent more than once. `rawHeaders` alternates names and values. */
export function withRepeatedHeaders(headers: RequestHeaders, rawHeaders: readonly string[]): RequestHeaders {
  const names: string[] = [];
  let mayRepeat = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] ?? "";
    if (!INITIALS.includes(raw.charCodeAt(0) | LOWER_CASE_BIT)) continue;
    const name = raw.toLowerCase();
    if (!isIdentityHeader(name)) continue;
    mayRepeat ||= names.length >= MAX_COMPARED || names.includes(name);
    names.push(name);
  }
  return mayRepeat ? { ...headers, ...listsOf(names, rawHeaders) } : headers;
}

function listsOf(names: readonly string[], rawHeaders: readonly string[]): RequestHeaders {
  const lists = new Map<string, string[]>(names.map((name) => [name, []]));
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lists.get((rawHeaders[at] ?? "").toLowerCase())?.push(rawHeaders[at + 1] ?? "");
  return Object.fromEntries([...lists].filter(([, values]) => values.length > 1));
}
