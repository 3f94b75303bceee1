// The state of an access key for lists: whether it is valid, whether it needs attention, and who owns it.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { nameOf } from "../../api/resources.ts";
import type { Tone } from "../../components/badge.tsx";

/** `Ready`, `ExpiresSoon` and `Terminating` are valid; the others are the server's reasons for refusing a key. */
export type KeyState = { readonly id: string; readonly tone: Tone };

const SOON_MS = 7 * 86_400_000;

/** Refusals that may be unexpected. The users' own actions need no attention. */
const ALARMING = new Set(["Leaked", "RetiredValueUsed", "Revoked", "ParentRefused", "OwnerLocked", "OwnerGone"]);

const UNUSED_MS = 30 * 86_400_000;

const READY: KeyState = { id: "Ready", tone: "good" };

/** In the grace period of its deletion. */
const TERMINATING: KeyState = { id: "Terminating", tone: "warn" };

/** The current time, and limits relative to it, as the API writes times: comparing texts costs a tenth of parsing them. */
export type Moment = {
  /** In milliseconds. */
  readonly now: number;
  readonly text: string;
  readonly soon: string;
  readonly unusedSince: string;
};

export function momentOf(now: number): Moment {
  const textOf = (time: number): string => new Date(time).toISOString();
  return { now, text: textOf(now), soon: textOf(now + SOON_MS), unusedSince: textOf(now - UNUSED_MS) };
}

export function keyState({ metadata, spec, status }: OwnedAccessKey, { now, text, soon }: Moment): KeyState {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const end = status?.expirationTimestamp ?? undefined;
  // The server updates the condition a moment later.
  if (end !== undefined && end <= text) return { id: "Expired", tone: "muted" };
  if (ready?.status === "False") {
    const id = ready.reason ?? "NotReady";
    return { id, tone: ALARMING.has(id) ? "bad" : "muted" };
  }
  if (spec?.disabled === true) return { id: "Disabled", tone: "muted" };
  const deletion = metadata.deletionTimestamp;
  if (deletion != null) return deletion > text ? TERMINATING : { id: "Deleting", tone: "muted" };
  if (end === undefined || end >= soon) return READY;
  // A key for a day or a week is meant to expire: it expires soon only in the last part of its TTL.
  const endTime = Date.parse(end);
  const life = endTime - Date.parse(metadata.creationTimestamp ?? "");
  return life > 0 && endTime - now >= life / 4 ? READY : { id: "ExpiresSoon", tone: "warn" };
}

export type Owner = { readonly kind: "user" | "team" | "subject"; readonly name: string };

export function ownerOf({ spec }: OwnedAccessKey): Owner {
  if (spec?.team !== undefined && spec.team !== "") return { kind: "team", name: spec.team };
  if (spec?.user !== undefined && spec.user !== "") return { kind: "user", name: spec.user };
  return { kind: "subject", name: spec?.subject ?? "" };
}

export const isLogin = ({ spec }: OwnedAccessKey): boolean => spec?.type === "Login";

/** As the server creates them: named after the virtual cluster that their scope consists of. */
export function isOfKubeconfig({ metadata, spec }: OwnedAccessKey): boolean {
  if (spec?.type !== "Other") return false;
  const [only, ...others] = spec.scope?.virtualClusters ?? [];
  if (only === undefined) return false;
  // One may be there several times, with other labels.
  if (others.some((entry) => entry.project !== only.project || entry.virtualCluster !== only.virtualCluster))
    return false;
  return metadata.generateName === `${only.project}-${only.virtualCluster}-`;
}

/** The key in whose name a kubeconfig generator creates credentials, named as the server names it. Its value is known to no client. */
export const isGeneratorKey = (type: string | undefined, name: string): boolean =>
  type === "Other" && name.startsWith("generator-");

const isOfGenerator = (key: OwnedAccessKey): boolean => isGeneratorKey(key.spec?.type, nameOf(key));

/** Sessions, tokens of kubeconfigs and keys of generators, which the server creates. */
export const isTemporary = (key: OwnedAccessKey): boolean => isLogin(key) || isOfKubeconfig(key) || isOfGenerator(key);

/** Tokens of kubeconfigs and of CI jobs: a new one is issued when it is needed. */
function isShortLived({ spec }: OwnedAccessKey): boolean {
  const ttl = Number(spec?.ttl ?? 0);
  return ttl > 0 && ttl * 1000 <= SOON_MS;
}

/** `first`: the administrator's key of the first start, where it has no end; `permanent`: every other key without one. */
export type Attention = "first" | "refused" | "ending" | "unused" | "permanent";

/** The name of the key that the first start of a server creates. */
export const FIRST_KEY = "admin";

/** Why the key needs attention; undefined if it does not. */
export function attentionOf(key: OwnedAccessKey, now: Moment, state = keyState(key, now)): Attention | undefined {
  const { id, tone } = state;
  if (tone === "bad") return "refused";
  if (isLogin(key)) return undefined;
  if (id === "ExpiresSoon") return isShortLived(key) ? undefined : "ending";
  if (id !== "Ready" || isOfGenerator(key)) return undefined;
  const isPermanent = key.status?.expirationTimestamp == null;
  if (isPermanent && nameOf(key) === FIRST_KEY && key.spec?.user === FIRST_KEY) return "first";
  const used = key.status?.lastActivity ?? key.metadata.creationTimestamp;
  if (used != null && used < now.unusedSince) return "unused";
  return isPermanent && !isOfKubeconfig(key) ? "permanent" : undefined;
}

export type KeyKind = "key" | "kubeconfig" | "session";

export const kindOf = (key: OwnedAccessKey): KeyKind =>
  isLogin(key) ? "session" : isTemporary(key) ? "kubeconfig" : "key";

export type KeyFilter = {
  readonly text: string;
  /** Empty: all. */
  readonly state: string;
  readonly owner: string;
  /** Keys that people create, those of kubeconfigs, or sessions. Those that need attention are always included. */
  readonly kind: KeyKind;
};

/** The texts that a search compares, ignoring case. */
const textsOf = (key: OwnedAccessKey): readonly (string | undefined)[] => [
  nameOf(key),
  key.spec?.displayName,
  key.spec?.description,
  ownerOf(key).name,
];

export function filterKeys(keys: readonly OwnedAccessKey[], filter: KeyFilter, now: Moment): readonly OwnedAccessKey[] {
  const wanted = filter.text.trim().toLowerCase();
  return keys.filter((key) => {
    if (filter.state !== "attention" && kindOf(key) !== filter.kind) return false;
    if (filter.owner !== "" && `${ownerOf(key).kind}/${ownerOf(key).name}` !== filter.owner) return false;
    if (filter.state === "attention" ? attentionOf(key, now) === undefined : !isIn(filter.state, key, now))
      return false;
    return wanted === "" || textsOf(key).some((text) => text?.toLowerCase().includes(wanted) === true);
  });
}

function isIn(state: string, key: OwnedAccessKey, now: Moment): boolean {
  if (state === "") return true;
  const { id, tone } = keyState(key, now);
  switch (state) {
    case "good":
      return tone === "good" || tone === "warn";
    case "ending":
      return id === "ExpiresSoon";
    case "unused":
      return key.status?.lastActivity == null;
    case "idle":
      return attentionOf(key, now) === "unused";
    case "permanent":
      return (tone === "good" || tone === "warn") && key.status?.expirationTimestamp == null;
    case "refused":
      return tone === "bad" || tone === "muted";
    default:
      return id === state;
  }
}
