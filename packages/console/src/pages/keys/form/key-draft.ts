// The draft of an access key: as form values, as a manifest, and as a command that creates the same key.

import { clusterSelectorText } from "@postern/api/cluster-selector";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { managementVersion } from "../../../api/resources.ts";
import { quoted } from "../../../format/shell.ts";
import { EMPTY_SCOPE, type ScopeDraft, scopeOf } from "../scopes/scope-draft.ts";
import { ON_A_DAY, ttlOf } from "./key-end.ts";
import { type RoleInside, rulesOf } from "./role-rules.ts";

export type KeyDraft = ScopeDraft & {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  /** `me`, `user/<name>` or `team/<name>`. */
  readonly owner: string;
  /** Seconds; `default`: the server's default; `0`: never expires. */
  readonly ttl: string;
  /** Where `ttl` is ON_A_DAY: the last day, as `2026-12-24`. */
  readonly day: string;
  readonly restarts: boolean;
  /** Limits the key inside clusters. */
  readonly inside: RoleInside;
};

export const EMPTY_DRAFT: KeyDraft = {
  name: "",
  displayName: "",
  description: "",
  owner: "me",
  ttl: String(30 * 86_400),
  day: "",
  restarts: false,
  inside: "owner",
  ...EMPTY_SCOPE,
};

/** `now`: milliseconds, from which a day of expiry counts. */
export function manifestOf(draft: KeyDraft, now = Date.now()): JsonObject {
  const { name, displayName, description, owner, inside } = draft;
  const ttl = ttlOf(draft, now);
  const [kind, ownerName = ""] = owner.split("/", 2);
  const scope = scopeOf(draft);
  const rules = rulesOf(inside);
  return {
    apiVersion: managementVersion,
    kind: "OwnedAccessKey",
    metadata: name === "" ? { generateName: "key-" } : { name },
    spec: {
      ...(displayName === "" ? {} : { displayName }),
      ...(description === "" ? {} : { description }),
      ...(kind === "user" || kind === "team" ? { [kind]: ownerName } : {}),
      ...(ttl === "default" ? {} : { ttl: Number(ttl) }),
      ...(hasRestarts(draft) ? { ttlAfterLastActivity: true } : {}),
      ...(rules === undefined ? {} : { rules: rules as JsonObject[] }),
      // A scope consists of strings and lists.
      ...(scope === undefined ? {} : { scope: scope as JsonObject }),
    },
  };
}

/** Each use restarts a duration, and not a day. */
const hasRestarts = ({ restarts, ttl }: KeyDraft): boolean => restarts && ttl !== "0" && ttl !== ON_A_DAY;

/**
 * Undefined for a scope that allows nothing, and for rules: no flag expresses them, and a command without flags would create a key without
 * limits.
 */
export function commandOf(draft: KeyDraft, now = Date.now()): string | undefined {
  const { name, displayName, description, owner, inside } = draft;
  const ttl = ttlOf(draft, now);
  if (inside !== "owner") return undefined;
  const [kind = "", ownerName = ""] = owner.split("/", 2);
  const scope = scopeOf(draft);
  if (scope !== undefined && Object.keys(scope).length === 0) return undefined;
  // One virtual cluster while it has certain labels: no flag says that.
  if (draft.isLimited && draft.selectors.some((row) => row.name !== "")) return undefined;
  const flags: (readonly [string, string])[] = [
    ...(displayName === "" ? [] : [["display-name", displayName] as const]),
    ...(description === "" ? [] : [["description", description] as const]),
    ...(ttl === "default" ? [] : [["ttl", lifeOf(ttl)] as const]),
    ...(kind === "user" || kind === "team" ? [[kind, ownerName] as const] : []),
    ...(scope?.projects ?? []).map(({ project = "" }) => ["project", project] as const),
    ...(scope?.virtualClusters ?? []).map(({ project = "", virtualCluster = "", selector }) =>
      selector === undefined
        ? (["virtual-cluster", `${project}/${virtualCluster}`] as const)
        : (["virtual-cluster-selector", `${project}/${clusterSelectorText(selector)}`] as const),
    ),
    ...(scope?.spaces ?? []).map(({ project = "", space = "" }) => ["space", `${project}/${space}`] as const),
    ...(scope?.clusters ?? []).map(({ cluster = "" }) => ["cluster", cluster] as const),
    ...(scope?.roles ?? []).map(({ role = "" }) => ["role", role] as const),
  ];
  const words = ["postern key create", ...(name === "" ? [] : [quoted(name)])];
  const written = flags.map(([flag, value]) => `--${flag} ${quoted(value)}`);
  if (hasRestarts(draft)) written.push("--ttl-after-last-activity");
  return [words.join(" "), ...written].join(" \\\n  ");
}

const lifeOf = (seconds: string): string => {
  const count = Number(seconds);
  if (count !== 0 && count % 86_400 === 0) return `${count / 86_400}d`;
  return count !== 0 && count % 3_600 === 0 ? `${count / 3_600}h` : `${count}s`;
};
