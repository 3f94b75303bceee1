// Bounds the texts of an audit event that clients choose, so that no request takes more of the log than others.

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { AuditEvent } from "./audit-event.ts";
import { TRUNCATED_ANNOTATION } from "./recorded-body.ts";

/** Characters of a text; a name has up to 253. */
export const MAX_TEXT = 1_024;
/** Characters of the URI, which contains selectors of any length. */
export const MAX_URI = 4_096;
/** Characters of all texts of one member, such as the groups of a user. */
export const MAX_MEMBER = 16 * 1_024;

/** Bodies have a bound of their own; all other texts are in the server's own words. */
const BOUNDED = [
  "verb",
  "user",
  "impersonatedUser",
  "sourceIPs",
  "userAgent",
  "objectRef",
  "responseStatus",
  "annotations",
] as const satisfies readonly (keyof AuditEvent)[];

/** The event itself where nothing in it is too long. Otherwise it is marked, and so is each text that was cut. */
export function withBoundedTexts(event: AuditEvent): AuditEvent {
  const changed: { [member: string]: unknown } = {};
  let isChanged = false;
  const set = (member: string, before: unknown, after: unknown): void => {
    if (before === after) return;
    changed[member] = after;
    isChanged = true;
  };
  set("requestURI", event.requestURI, cut(event.requestURI, MAX_URI));
  for (const member of BOUNDED) {
    const value = event[member];
    if (isShort(value)) continue;
    // Events are JSON.
    set(member, value, bounded(value as JsonValue, { left: MAX_MEMBER }));
  }
  if (!isChanged) return event;
  const cutEvent: AuditEvent = { ...event, ...changed };
  const { annotations, ...others } = cutEvent;
  return { ...others, annotations: { ...annotations, [TRUNCATED_ANNOTATION]: "true" } };
}

const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}…[${text.length - max} more characters]`;

/** Whether a member is left as it is. */
export const isShort = (value: unknown): boolean => charactersIn(value) < MAX_MEMBER;

/** Characters of all names and texts, counted as `bounded` does; infinite where they are too long. The usual case allocates nothing. */
function charactersIn(value: unknown): number {
  if (typeof value === "string") return value.length <= MAX_TEXT ? value.length : Number.POSITIVE_INFINITY;
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      sum += charactersIn(item) + 1;
      if (sum >= MAX_MEMBER) return Number.POSITIVE_INFINITY;
    }
    return sum;
  }
  const members = value as { readonly [name: string]: unknown };
  for (const name in members) sum += charactersIn(name) + charactersIn(members[name]);
  return sum;
}

type Budget = { left: number };

function bounded(value: JsonValue, budget: Budget): JsonValue {
  if (typeof value === "string") {
    const text = cut(value, Math.max(0, Math.min(MAX_TEXT, budget.left)));
    budget.left -= text.length;
    return text;
  }
  if (isJsonArray(value)) return boundedItems(value, budget);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  let isChanged = false;
  const kept: [string, JsonValue][] = [];
  for (const [at, [name, member]] of entries.entries()) {
    if (budget.left <= 0) {
      kept.push(["…", `${entries.length - at} more members`]);
      isChanged = true;
      break;
    }
    const key = cut(name, MAX_TEXT);
    budget.left -= key.length;
    if (member === undefined) continue;
    const after = bounded(member, budget);
    isChanged ||= key !== name || after !== member;
    kept.push([key, after]);
  }
  return isChanged ? Object.fromEntries(kept) : value;
}

function boundedItems(items: readonly JsonValue[], budget: Budget): JsonValue {
  const kept: JsonValue[] = [];
  let isChanged = false;
  for (const [at, item] of items.entries()) {
    if (budget.left <= 0) {
      kept.push(`…[${items.length - at} more]`);
      isChanged = true;
      break;
    }
    const after = bounded(item, budget);
    // An empty text takes some of the log as well.
    budget.left -= 1;
    isChanged ||= after !== item;
    kept.push(after);
  }
  return isChanged ? kept : items;
}
