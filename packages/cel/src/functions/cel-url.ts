// Reads URLs as Go does: an absolute URI, or an absolute path.
// Source: https://pkg.go.dev/net/url#ParseRequestURI

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, CelLiteralMap, type CelValue, failCel, listOf } from "../cel-value.ts";

type UrlParts = {
  readonly scheme: string;
  /** With its port, and IPv6 addresses in brackets. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
};

class CelUrl extends CelExtension {
  readonly typeName = EXTENSION_TYPES.url;
  readonly text: string;
  readonly parts: UrlParts;

  constructor(text: string, parts: UrlParts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  equals(other: CelExtension): boolean {
    return other instanceof CelUrl && other.text === this.text;
  }
}

const URL_TEXT = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;

/** The error in a URL, in Go's words. */
export function urlError(text: string): string | undefined {
  const refuse = (why: string): string => `parse ${quoteGo(text)}: ${why}`;
  // Without the rest of the text, as Go's error has it.
  if ([...text].some((character) => character < " " || character === "\x7f")) {
    return refuse("net/url: invalid control character in URL");
  }
  if (text === "") return refuse("empty url");
  const [, scheme, authority, path = ""] = URL_TEXT.exec(text) ?? [];
  if (scheme === undefined && text.startsWith(":")) return refuse("missing protocol scheme");
  if (scheme === undefined && !text.startsWith("/")) return refuse("invalid URI for request");
  const fault = (authority === undefined ? undefined : authorityFault(authority)) ?? escapeFault(path);
  return fault === undefined ? undefined : refuse(fault);
}

const escapeFault = (text: string): string | undefined => {
  const [found] = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(text) ?? [];
  return found === undefined ? undefined : `invalid URL escape ${quoteGo(found)}`;
};

function authorityFault(authority: string): string | undefined {
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const [, port] = /^(?:\[[^\]]*\]|[^:]*)(:.*)?$/s.exec(host) ?? [];
  if (host.startsWith("[") && !host.includes("]")) return "missing ']' in host";
  if (host.startsWith("[") ? port === undefined && !host.endsWith("]") : false) {
    return `invalid port ${quoteGo(host.slice(host.indexOf("]") + 1))} after host`;
  }
  if (port !== undefined && !/^:\d*$/.test(port)) {
    const last = host.startsWith("[") ? port : host.slice(host.lastIndexOf(":"));
    return `invalid port ${quoteGo(last)} after host`;
  }
  const [character] = /[\s"<>\\^`{|}]/.exec(host) ?? [];
  if (character !== undefined) return `invalid character ${quoteGo(character)} in host name`;
  return escapeFault(host);
}

/** Throws CelEvaluationError. */
export function readUrl(text: string): CelUrl {
  const fault = urlError(text);
  if (fault !== undefined) return failCel(`URL parse error during conversion from string: ${fault}`);
  const hash = text.indexOf("#");
  const [, scheme = "", authority = "", path = "", query = ""] =
    URL_TEXT.exec(hash === -1 ? text : text.slice(0, hash)) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  return new CelUrl(text, { scheme: scheme.toLowerCase(), host, path, query });
}

export const partsOf = (value: CelValue): CelUrl["parts"] =>
  value instanceof CelUrl ? value.parts : failCel("no such overload");

/** Without brackets and port. */
export const hostnameOf = (host: string): string => /^\[([^\]]*)\]/.exec(host)?.[1] ?? host.replace(/:\d*$/, "");

/** As it is written where that is a valid encoding. */
export function escapedPath(path: string): string {
  if (/^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9A-Fa-f]{2})*$/.test(path)) return path;
  const escaped = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return [...Buffer.from(decode(path.replaceAll("+", "%2B")) ?? path)]
    .map((byte) =>
      /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : escaped(byte),
    )
    .join("");
}

/** Pairs that cannot be decoded are left out, as by Go's Query. */
export function readQuery(query: string): CelLiteralMap {
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
