// Redacts credentials in texts of a request before they reach the log, the audit log, the store or a response: the credential of the request, values
// in a known format, and values that clients have chosen for keys.

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { ApiRequest } from "../transport/api-request.ts";
import { bearerTokenOf, tokenWithProof } from "./credentials.ts";

export type Redact = (text: string) => string;

/** Whether a text is a valid credential, in any format. Must cost little: it runs for most texts of most requests. */
export type IsCredential = (text: string) => boolean;

/** The credentials that have no form of their own. */
export type ChosenCredentials = {
  readonly isCredential: IsCredential;
  /** False if there are none, so that no text is searched. */
  readonly isAny: () => boolean;
};

const REDACTED = "<redacted>";
/** Shorter tokens are no credentials, and occur by chance. */
const MIN_TOKEN_LENGTH = 16;
/** The minimum length of values that clients choose. */
const MIN_CHOSEN_LENGTH = 32;
const MAX_CHOSEN_LENGTH = 1024;
/** Longer texts are searched for chosen values up to here. */
const MAX_LOOKED_AT = 16 * 1024;
/** Bounds the work on one text: each costs two microseconds where clients chose values at all. */
const MAX_CANDIDATES = 1024;
/** A chosen value has fewer separators than this. */
const MAX_PARTS = 10;

const NO_CHOSEN: ChosenCredentials = { isCredential: () => false, isAny: () => false };

export function redactionOf(
  request: Pick<ApiRequest, "headers" | "upgrade">,
  { isCredential, isAny }: ChosenCredentials = NO_CHOSEN,
): Redact {
  const bearer = bearerTokenOf(request);
  const presented = bearer.type === "token" ? bearer.token : tokenWithProof(request);
  const token = presented !== undefined && presented.length >= MIN_TOKEN_LENGTH ? presented : undefined;
  return (text) => {
    if (text.length < MIN_TOKEN_LENGTH) return text;
    const safe = token !== undefined && text.includes(token) ? text.replaceAll(token, REDACTED) : text;
    const known = redactCredentials(safe);
    return known.length >= MIN_CHOSEN_LENGTH && isAny() ? withoutChosen(known, isCredential) : known;
  };
}

function withoutChosen(text: string, isCredential: IsCredential): string {
  let safe = text;
  for (const candidate of new Set(candidatesIn(text.slice(0, MAX_LOOKED_AT)))) {
    if (isCredential(candidate)) safe = safe.replaceAll(candidate, REDACTED);
  }
  return safe;
}

/**
 * The texts between two separators. A chosen value may have some of them in it, and the text around it, such as the path of a
 * field or JSON, ends and begins with one.
 */
function candidatesIn(text: string): readonly string[] {
  const found: string[] = [];
  for (const run of text.split(/[^!-~]/)) {
    if (run.length < MIN_CHOSEN_LENGTH) continue;
    const ends = endsIn(run);
    for (const [at, end] of [-1, ...ends].entries()) {
      const start = end + 1;
      for (const next of ends.slice(at, at + MAX_PARTS)) {
        if (next - start > MAX_CHOSEN_LENGTH) break;
        if (next - start >= MIN_CHOSEN_LENGTH) found.push(run.slice(start, next));
      }
      if (found.length >= MAX_CANDIDATES) return found;
    }
  }
  return found;
}

/** Where a separator is, and the end. */
function endsIn(run: string): readonly number[] {
  const ends: number[] = [];
  for (let at = 0; at < run.length; at++) if (SEPARATORS.has(run[at] ?? "")) ends.push(at);
  ends.push(run.length);
  return ends;
}

const SEPARATORS: ReadonlySet<string> = new Set("\"'`,;<>()[]{}=:/?&#@|.\\");

/** Every text in a value, which stays the same object where there is nothing to take out. */
export function redactedTexts<T>(value: T, redact: Redact): T {
  // Changing the texts of a value keeps its type.
  return isSafe(value, redact) ? value : (redacted(value, redact) as T);
}

/** The usual case, which makes nothing. */
function isSafe(value: unknown, redact: Redact): boolean {
  if (typeof value === "string") return redact(value) === value;
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (!isSafe(item, redact)) return false;
    return true;
  }
  const members = value as { readonly [name: string]: unknown };
  for (const name in members) if (redact(name) !== name || !isSafe(members[name], redact)) return false;
  return true;
}

function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redacted(item, redact));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const members = Object.entries(value);
  const safe = members.map(([name, member]) => [redact(name), redacted(member, redact)] as const);
  return safe.every(([name, member], at) => name === members[at]?.[0] && member === members[at]?.[1])
    ? value
    : Object.fromEntries(safe);
}
