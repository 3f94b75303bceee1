// What a person wants to know of an access key at a glance: is it good, does it need attention, whose is it.

import type { AccessKey } from "../../api/resources.ts";
import { nameOf } from "../../api/resources.ts";
import type { Tone } from "../../components/ui.tsx";

/** `Ready` and `ExpiresSoon` are good; the others are reasons of the server why a key is refused. */
export type KeyState = { readonly id: string; readonly tone: Tone };

const SOON_MS = 7 * 86_400_000;

/** Refused because of something that may not be right; what people did themselves needs no attention. */
const ALARMING = new Set(["Leaked", "RetiredValueUsed", "Revoked", "ParentRefused", "OwnerLocked", "OwnerGone"]);

const READY: KeyState = { id: "Ready", tone: "good" };

/** `now` in milliseconds. */
export function keyState({ metadata, spec, status }: AccessKey, now: number): KeyState {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const end = status?.expirationTimestamp === undefined ? undefined : Date.parse(status.expirationTimestamp);
  // The condition follows a moment later.
  if (end !== undefined && end <= now) return { id: "Expired", tone: "muted" };
  if (ready?.status === "False") {
    const id = ready.reason ?? "NotReady";
    return { id, tone: ALARMING.has(id) ? "bad" : "muted" };
  }
  if (spec?.disabled === true) return { id: "Disabled", tone: "muted" };
  if (end === undefined) return READY;
  // What is made for a day or a week is meant to end: it does so soon in the last part of its life.
  const life = end - Date.parse(metadata.creationTimestamp ?? "");
  const soon = life > 0 ? Math.min(SOON_MS, life / 4) : SOON_MS;
  return end - now < soon ? { id: "ExpiresSoon", tone: "warn" } : READY;
}

export type Owner = { readonly kind: "user" | "team" | "subject"; readonly name: string };

export function ownerOf({ spec }: AccessKey): Owner {
  if (spec?.team !== undefined && spec.team !== "") return { kind: "team", name: spec.team };
  if (spec?.user !== undefined && spec.user !== "") return { kind: "user", name: spec.user };
  return { kind: "subject", name: spec?.subject ?? "" };
}

export const isLogin = ({ spec }: AccessKey): boolean => spec?.type === "Login";

/** Tokens of kubeconfigs and of jobs: another one is made when it is needed. */
const isShortLived = ({ spec }: AccessKey): boolean => (spec?.ttl ?? 0) > 0 && (spec?.ttl ?? 0) * 1000 <= SOON_MS;

const UNUSED_MS = 30 * 86_400_000;

export type Attention = "refused" | "ending" | "unused";

/** Why the key needs attention; undefined if it does not. */
export function attentionOf(key: AccessKey, now: number, state = keyState(key, now)): Attention | undefined {
  const { id, tone } = state;
  if (tone === "bad") return "refused";
  if (isLogin(key)) return undefined;
  if (id === "ExpiresSoon") return isShortLived(key) ? undefined : "ending";
  if (id !== "Ready") return undefined;
  const used = key.status?.lastActivity ?? key.metadata.creationTimestamp;
  return used != null && now - Date.parse(used) > UNUSED_MS ? "unused" : undefined;
}

export type KeyFilter = {
  readonly text: string;
  /** Empty: all. */
  readonly state: string;
  readonly owner: string;
  /** Keys of sign-ins as well. */
  readonly hasSessions: boolean;
};

/** What the text is looked for in, without regard to case. */
const textsOf = (key: AccessKey): readonly (string | undefined)[] => [
  nameOf(key),
  key.spec?.displayName,
  key.spec?.description,
  ownerOf(key).name,
];

export function filterKeys(keys: readonly AccessKey[], filter: KeyFilter, now: number): readonly AccessKey[] {
  const wanted = filter.text.trim().toLowerCase();
  return keys.filter((key) => {
    if (!filter.hasSessions && isLogin(key)) return false;
    if (filter.owner !== "" && `${ownerOf(key).kind}/${ownerOf(key).name}` !== filter.owner) return false;
    if (filter.state === "attention" ? attentionOf(key, now) === undefined : !isIn(filter.state, key, now))
      return false;
    return wanted === "" || textsOf(key).some((text) => text?.toLowerCase().includes(wanted) === true);
  });
}

function isIn(state: string, key: AccessKey, now: number): boolean {
  if (state === "") return true;
  const { id, tone } = keyState(key, now);
  switch (state) {
    case "good":
      return tone === "good" || tone === "warn";
    case "ending":
      return id === "ExpiresSoon";
    case "unused":
      return key.status?.lastActivity === undefined;
    case "refused":
      return tone === "bad" || tone === "muted";
    default:
      return id === state;
  }
}
