// Removes secrets from a body before the audit log records it.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { unescapeSegment } from "@postern/apimachinery/patch/patch-target";
import { LAST_APPLIED_ANNOTATION } from "@postern/structured-merge/managedfields/last-applied";

type SecretMembers = {
  /** Names of members whose values are secret at any place. */
  readonly members: ReadonlySet<string>;
  /** Tells text that is secret by its form. */
  readonly looksSecret?: ((text: string) => boolean) | undefined;
};

export const REDACTED = "REDACTED";

/** Shorter texts occur by chance. */
const MIN_COPIED_LENGTH = 8;

/**
 * The body, an object or a patch, with `REDACTED` in place of each secret, and of each text that repeats one of them. A member that
 * holds several, such as the data of a Secret, keeps the names of its members.
 */
export function redactSecrets(body: JsonValue, { members, looksSecret = () => false }: SecretMembers): JsonValue {
  const secrets = new Set<string>();
  collect(body, members, secrets);
  const isSecretText = (text: string): boolean =>
    looksSecret(text) || [...secrets].some((secret) => text.includes(secret));
  return redacted(body, members, isSecretText);
}

function redacted(value: JsonValue, members: ReadonlySet<string>, isSecretText: (text: string) => boolean): JsonValue {
  if (typeof value === "string") return isSecretText(value) ? REDACTED : value;
  if (isJsonArray(value)) return value.map((item) => redacted(item, members, isSecretText));
  if (!isJsonObject(value)) return value;
  const pointsAtSecret = isSecretOperation(value, members);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
      if (member === undefined) return [];
      // A client may put a secret where a name belongs.
      const safeName = isSecretText(name) ? REDACTED : name;
      // kubectl keeps a whole manifest in it, with all secrets of that.
      const isSecret = members.has(name) || name === LAST_APPLIED_ANNOTATION || (name === "value" && pointsAtSecret);
      return [[safeName, isSecret ? withoutTexts(member) : redacted(member, members, isSecretText)]];
    }),
  );
}

/** Only the names of members are left. */
function withoutTexts(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value === null ? null : REDACTED;
  return Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED]));
}

/** An operation of a JSON patch whose path goes through a secret. */
function isSecretOperation({ path, value }: JsonObject, members: ReadonlySet<string>): boolean {
  if (typeof path !== "string" || value === undefined) return false;
  const steps = path.split("/").map(unescapeSegment);
  return steps.some((step) => members.has(step) || step === LAST_APPLIED_ANNOTATION);
}

function collect(
  value: JsonValue | undefined,
  members: ReadonlySet<string>,
  into: Set<string>,
  isSecret = false,
): void {
  if (typeof value === "string") {
    if (isSecret && value.length >= MIN_COPIED_LENGTH) into.add(value);
  } else if (isJsonArray(value)) {
    for (const item of value) collect(item, members, into, isSecret);
  } else if (isJsonObject(value)) {
    const pointsAtSecret = isSecretOperation(value, members);
    for (const [name, member] of Object.entries(value)) {
      collect(member, members, into, isSecret || members.has(name) || (name === "value" && pointsAtSecret));
    }
  }
}
