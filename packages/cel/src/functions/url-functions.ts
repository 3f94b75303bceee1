// Functions of URLs.
// Source: k8s.io/apiserver/pkg/cel/library/urls.go

import { CelLiteralMap, type CelValue, failCel, listOf } from "../cel-value.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";
import { CelUrl, readUrl, urlFault } from "./url.ts";

const partsOf = (value: CelValue): CelUrl["parts"] =>
  value instanceof CelUrl ? value.parts : failCel("no such overload");

/** Without brackets and port. */
const hostnameOf = (host: string): string => /^\[([^\]]*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, "");

/** As it is written where that is a valid encoding. */
function escapedPath(path: string): string {
  if (/^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9A-Fa-f]{2})*$/.test(path)) return path;
  const escaped = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return [...Buffer.from(decode(path.replaceAll("+", "%2B")) ?? path)]
    .map((byte) =>
      /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : escaped(byte),
    )
    .join("");
}

/** What cannot be decoded is left out, as Go's Query does. */
function readQuery(query: string): CelLiteralMap {
  const values = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const [key, value] = [
      equals === -1 ? pair : pair.slice(0, equals),
      equals === -1 ? "" : pair.slice(equals + 1),
    ].map((part) => decode(part));
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return new CelLiteralMap([...values].map(([key, list]) => [key, listOf(list)]));
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

export const urlFunctions: readonly CelOverload[] = [
  celFunction("isURL", ["string"], "bool", (text) => urlFault(text) === undefined),
  celFunction("url", ["string"], "url", readUrl),
  celMethod("getScheme", ["url"], "string", (url) => partsOf(url).scheme),
  celMethod("getHost", ["url"], "string", (url) => partsOf(url).host),
  celMethod("getHostname", ["url"], "string", (url) => hostnameOf(partsOf(url).host)),
  celMethod("getPort", ["url"], "string", (url) => /:(\d*)$/.exec(partsOf(url).host)?.[1] ?? ""),
  celMethod("getEscapedPath", ["url"], "string", (url) => escapedPath(partsOf(url).path)),
  celMethod("getQuery", ["url"], "map<string, list<string>>", (url) => readQuery(partsOf(url).query)),
];
