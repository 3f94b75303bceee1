// The trust rule or sign-in that a key was issued by. The server records it with the key, and checks at every use that it still grants as much.

import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import type { AccessKeyOwner } from "./access-key-owner.ts";
import type { KeyRefusal } from "./validity/ready-reasons.ts";

export type KeyGrant = {
  /** Such as `clustertrustrules/deploy`, `trustrules/p-team/deploy`, or `accessrequests/access-x7k2p`. */
  readonly rule: string;
  readonly ruleUid: string;
  /** Digest of all that the rule decided by. */
  readonly terms: string;
  /** Milliseconds since the epoch at which the key ends, whatever is written of its TTL later. */
  readonly until: number;
  /** For a session of a user: the subject at the identity provider. */
  readonly login?: LoginGrant;
};

export type LoginGrant = {
  /** As the user's `spec.identities` name it. */
  readonly subject: string;
  /** The `sub` of the provider's tokens. */
  readonly sub: string;
  /** The `sid` of the session at the provider; "" if it has none. */
  readonly sid: string;
};

/** Reach of an issued key, which must not exceed its grant. */
export type GrantedKey = {
  readonly owner: AccessKeyOwner;
  readonly groups: readonly string[];
  readonly restrictions: AccessKeyRestrictions | undefined;
};

const OF_REQUEST = "accessrequests/";

/** `rule` of the grant of a key that was made with an approved access request. */
export const requestRuleOf = (name: string): string => `${OF_REQUEST}${name}`;
export const isGrantOfRequest = ({ rule }: Pick<KeyGrant, "rule">): boolean => rule.startsWith(OF_REQUEST);

/** The present grants of rules. */
export type KeyGrants = {
  /** Why the rule does not give the key any more; undefined where it does. */
  keyRefusalOf(grant: KeyGrant, key: GrantedKey): KeyRefusal | undefined;
  /** Calls back when a rule is not what it was. */
  onChange(listener: () => void): Disposable;
};

/** Without rules there is nothing that a key could have been issued by. */
export const NO_GRANTS: KeyGrants = {
  keyRefusalOf: () => ({ reason: "Unknown", message: "its trust rule is not known" }),
  onChange: () => ({ [Symbol.dispose]: () => {} }),
};

export function readKeyGrant(value: JsonValue | undefined): KeyGrant | undefined {
  if (!isJsonObject(value)) return undefined;
  const { rule, ruleUid, terms, until, login } = value;
  return {
    rule: textOf(rule),
    ruleUid: textOf(ruleUid),
    terms: textOf(terms),
    // Without an end it has expired.
    until: typeof until === "number" ? until : 0,
    ...(isJsonObject(login) ? { login: readLogin(login) } : {}),
  };
}

const readLogin = ({ subject, sub, sid }: JsonObject): LoginGrant => ({
  subject: textOf(subject),
  sub: textOf(sub),
  sid: textOf(sid),
});

export const writeKeyGrant = ({ login, ...grant }: KeyGrant): JsonObject => ({
  ...grant,
  ...(login === undefined ? {} : { login: { ...login } }),
});
