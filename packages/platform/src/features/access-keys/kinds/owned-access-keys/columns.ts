// The columns of `kubectl get ownedaccesskeys`.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import { ownerOf } from "../../access-key-owner.ts";
import { specOf } from "../../chosen-values/secret-fields.ts";

const LISTS = ["roles", "projects", "virtualClusters", "spaces", "clusters", "rules"] as const;

export const accessKeyColumns: readonly PrinterColumn[] = [
  { name: "Owner", type: "string", description: "User, team or subject that the key authenticates as.", value: owner },
  { name: "Type", type: "string", priority: 1, description: "Type of the key.", value: ".spec.type" },
  { name: "Scope", type: "string", description: "Scope of the key.", value: scopeSummary },
  {
    name: "Disabled",
    type: "boolean",
    description: "Whether the key is disabled.",
    value: (key) => specOf(key)["disabled"] === true,
  },
  {
    name: "Status",
    type: "string",
    description: "Ready, Terminating in the grace period of a deletion, or the reason why the key is refused.",
    value: statusOf,
  },
  { name: "Expires", type: "string", description: "Time until the key expires.", value: expires },
  {
    name: "Uses",
    type: "string",
    priority: 1,
    description: "Requests that the key has authenticated, of those that it may. Empty without spec.maxUses.",
    value: usesOf,
  },
  {
    name: "Last Used",
    type: "date",
    description: "Time since the key was last used.",
    // The store holds no other kind under this resource.
    value: (key) => (key as OwnedAccessKey).status?.lastActivity ?? "never",
  },
  {
    name: "Age",
    type: "date",
    description: "Time since the key was created.",
    value: ".metadata.creationTimestamp",
  },
];

function statusOf(key: KubeObject, now: number): string {
  // The store holds no other kind under this resource.
  const { metadata, spec, status } = key as OwnedAccessKey;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "False") return ready.reason ?? "NotReady";
  // The condition follows a moment later.
  if (spec?.maxUses !== undefined && (status?.uses ?? 0) >= spec.maxUses) return "UsesExhausted";
  const end = parseTimestamp(status?.expirationTimestamp ?? "");
  if (end !== undefined && end <= now) return "Expired";
  const deletion = parseTimestamp(metadata.deletionTimestamp ?? "");
  if (deletion === undefined) return "Ready";
  return deletion <= now ? "Deleting" : "Terminating";
}

function usesOf(key: KubeObject): string | null {
  // The store holds no other kind under this resource.
  const { spec, status } = key as OwnedAccessKey;
  return spec?.maxUses === undefined ? null : `${status?.uses ?? 0}/${spec.maxUses}`;
}

function owner(key: KubeObject): string | null {
  const found = ownerOf(specOf(key));
  return found === undefined ? null : `${found.kind}/${found.name}`;
}

function scopeSummary(key: KubeObject): string {
  const spec = specOf(key);
  const { scope, rules } = spec;
  if (!isJsonObject(scope)) return isJsonArray(rules) && rules.length > 0 ? `rules:${rules.length}` : "full";
  const parts = LISTS.flatMap((list) => {
    const entries = scope[list];
    if (!isJsonArray(entries)) return [];
    const selecting = entries.filter((entry) => isJsonObject(entry) && entry["selector"] !== undefined).length;
    return [
      ...(entries.length > selecting ? [`${list}:${entries.length - selecting}`] : []),
      ...(selecting > 0 ? [`selectors:${selecting}`] : []),
    ];
  });
  return parts.length === 0 ? "nothing" : parts.join(",");
}

function expires(key: KubeObject, now: number): string {
  // The store holds no other kind under this resource.
  const { metadata, status } = key as OwnedAccessKey;
  const ends = [status?.expirationTimestamp, metadata.deletionTimestamp].flatMap(
    (end) => parseTimestamp(end ?? "") ?? [],
  );
  if (ends.length === 0) return "never";
  const end = Math.min(...ends);
  return end <= now ? "expired" : humanDuration(end - now);
}
