// A key that is being thought up: as the form has it, as a manifest, and as a command that does the same.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KeyScope } from "../../api/resources.ts";
import { managementVersion } from "../../api/resources.ts";

export type KeyDraft = {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  /** `me`, `user/<name>` or `team/<name>`. */
  readonly owner: string;
  /** Seconds; `default` leaves it to the server, `0` is no end. */
  readonly ttl: string;
  readonly restarts: boolean;
  readonly isLimited: boolean;
  readonly projects: readonly string[];
  /** `<project>/<name>`. */
  readonly virtualClusters: readonly string[];
  readonly spaces: readonly string[];
  readonly clusters: readonly string[];
  readonly roles: readonly string[];
};

export const EMPTY_DRAFT: KeyDraft = {
  name: "",
  displayName: "",
  description: "",
  owner: "me",
  ttl: String(30 * 86_400),
  restarts: false,
  isLimited: true,
  projects: [],
  virtualClusters: [],
  spaces: [],
  clusters: [],
  roles: [],
};

/** `CI of the shop` → `ci-of-the-shop`: what Kubernetes takes as a name. */
export const nameFrom = (displayName: string): string =>
  displayName
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/[^a-z0-9]/g, "-")
    .split("-")
    .filter((part) => part !== "")
    .join("-")
    .slice(0, 60);

const split = (path: string): readonly [string, string] => {
  const [project = "", name = ""] = path.split("/", 2);
  return [project, name];
};

/** Undefined where the key has all permissions of its owner. */
export function scopeOf(draft: KeyDraft): KeyScope | undefined {
  if (!draft.isLimited) return undefined;
  const { projects, virtualClusters, spaces, clusters, roles } = draft;
  // What a whole project opens, its parts need not.
  const isLeft = (path: string): boolean => !projects.includes(split(path)[0]);
  const left = { virtualClusters: virtualClusters.filter(isLeft), spaces: spaces.filter(isLeft) };
  return {
    ...(projects.length === 0 ? {} : { projects: projects.map((project) => ({ project })) }),
    ...(left.virtualClusters.length === 0
      ? {}
      : {
          virtualClusters: left.virtualClusters.map((path) => {
            const [project, virtualCluster] = split(path);
            return { project, virtualCluster };
          }),
        }),
    ...(left.spaces.length === 0
      ? {}
      : {
          spaces: left.spaces.map((path) => {
            const [project, space] = split(path);
            return { project, space };
          }),
        }),
    ...(clusters.length === 0 ? {} : { clusters: clusters.map((cluster) => ({ cluster })) }),
    ...(roles.length === 0 ? {} : { roles: roles.map((role) => ({ role })) }),
  };
}

export function manifestOf(draft: KeyDraft): JsonObject {
  const { name, displayName, description, owner, ttl, restarts } = draft;
  const [kind, ownerName = ""] = owner.split("/", 2);
  const scope = scopeOf(draft);
  return {
    apiVersion: managementVersion,
    kind: "OwnedAccessKey",
    metadata: name === "" ? { generateName: "key-" } : { name },
    spec: {
      ...(displayName === "" ? {} : { displayName }),
      ...(description === "" ? {} : { description }),
      ...(kind === "user" || kind === "team" ? { [kind]: ownerName } : {}),
      ...(ttl === "default" ? {} : { ttl: Number(ttl) }),
      ...(restarts && ttl !== "0" ? { ttlAfterLastActivity: true } : {}),
      // A scope is made of strings and lists.
      ...(scope === undefined ? {} : { scope: scope as JsonObject }),
    },
  };
}

/** Any text as one word of a shell. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]{1,1000}$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Undefined for a scope of nothing: no flag says that, and a command without one would make a key for everything. */
export function commandOf(draft: KeyDraft): string | undefined {
  const { name, displayName, description, owner, ttl, restarts } = draft;
  const [kind = "", ownerName = ""] = owner.split("/", 2);
  const scope = scopeOf(draft);
  if (scope !== undefined && Object.keys(scope).length === 0) return undefined;
  const flags: (readonly [string, string])[] = [
    ...(displayName === "" ? [] : [["display-name", displayName] as const]),
    ...(description === "" ? [] : [["description", description] as const]),
    ...(ttl === "default" ? [] : [["ttl", lifeOf(ttl)] as const]),
    ...(kind === "user" || kind === "team" ? [[kind, ownerName] as const] : []),
    ...(scope?.projects ?? []).map(({ project }) => ["project", project] as const),
    ...(scope?.virtualClusters ?? []).map(
      ({ project, virtualCluster }) => ["virtual-cluster", `${project}/${virtualCluster}`] as const,
    ),
    ...(scope?.spaces ?? []).map(({ project, space }) => ["space", `${project}/${space}`] as const),
    ...(scope?.clusters ?? []).map(({ cluster }) => ["cluster", cluster] as const),
    ...(scope?.roles ?? []).map(({ role }) => ["role", role] as const),
  ];
  const words = ["postern key create", ...(name === "" ? [] : [quoted(name)])];
  const written = flags.map(([flag, value]) => `--${flag} ${quoted(value)}`);
  if (restarts && ttl !== "0") written.push("--ttl-after-last-activity");
  return [words.join(" "), ...written].join(" \\\n  ");
}

const lifeOf = (seconds: string): string => {
  const count = Number(seconds);
  if (count !== 0 && count % 86_400 === 0) return `${count / 86_400}d`;
  return count !== 0 && count % 3_600 === 0 ? `${count / 3_600}h` : `${count}s`;
};
