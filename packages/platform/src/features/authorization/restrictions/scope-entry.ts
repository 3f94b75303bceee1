// The narrowest scope entry that allows a request: a suggestion for grants, and for the scope of a used key.

import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { aboutInstance, isFilteredList } from "../filtered-resources.ts";
import { isAccessKeyRequest } from "../request/access-key-request.ts";
import type { PlatformRequest, TargetedRequest } from "../request/platform-request.ts";
import { isAlwaysAllowed } from "./always-allowed.ts";
import { allowedByInstanceEntry } from "./scope.ts";

export type ScopeEntry =
  | { readonly list: "projects"; readonly project: string }
  | { readonly list: "virtualClusters"; readonly project: string; readonly virtualCluster: string }
  | { readonly list: "spaces"; readonly project: string; readonly space: string }
  | { readonly list: "clusters"; readonly cluster: string }
  | { readonly list: "roles"; readonly role: "platform-cli" | "metrics-reader" };

/** The entries for targets that are reached through a proxy. */
export type ProxiedEntry = Extract<ScopeEntry, { readonly list: "virtualClusters" | "spaces" | "clusters" }>;

/** Entry that opens the cluster behind the proxy that a request goes through; undefined for the management API. */
export function proxiedEntry(request: PlatformRequest): ProxiedEntry | undefined {
  switch (request.target) {
    case "ProjectVirtualCluster":
      return { list: "virtualClusters", project: request.project, virtualCluster: request.virtualCluster };
    case "ProjectSpace":
      return { list: "spaces", project: request.project, space: request.space };
    case "Cluster":
      return { list: "clusters", cluster: request.cluster };
    case "Management":
      return undefined;
  }
}

/** "always-open" for what any scope opens; undefined for what no entry does, so that it takes `rules`. */
export function scopeEntryFor(request: PlatformRequest, names: PlatformNames): ScopeEntry | "always-open" | undefined {
  if (request.target !== "Management") return proxiedEntry(request);
  if (isAlwaysAllowed(request, names) || isFilteredList(request, names)) return "always-open";
  return managementEntry(aboutInstance(request.inner, names), names);
}

function managementEntry(inner: TargetedRequest, names: PlatformNames): ScopeEntry | undefined {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name, path } = inner;
  if (!isResourceRequest) {
    return path === "/metrics" && (verb === "get" || verb === "head")
      ? { list: "roles", role: "metrics-reader" }
      : undefined;
  }
  if (isAccessKeyRequest(inner, names)) return undefined;
  const isManaged = apiGroup === names.managementGroup;
  const project = names.projectOf(namespace);
  if (project !== undefined) {
    const isOneInstance = isManaged && name !== "" && allowedByInstanceEntry(inner) && !name.includes("*");
    if (isOneInstance && resource === "virtualclusterinstances") {
      return { list: "virtualClusters", project, virtualCluster: name };
    }
    if (isOneInstance && resource === "spaceinstances") return { list: "spaces", project, space: name };
    return { list: "projects", project };
  }
  if (!isManaged || namespace !== "" || name === "") return undefined;
  if (resource === "projects") return { list: "projects", project: name };
  if (resource === "clusters" && subresource === "" && (verb === "get" || verb === "use")) {
    return { list: "clusters", cluster: name };
  }
  const isPerson = resource === "users" || resource === "teams";
  return isPerson && verb === "get" && subresource === "" ? { list: "roles", role: "platform-cli" } : undefined;
}

/** Equal for equal entries: the names come from paths and contain no slash. Called for every request. */
export function textOfEntry(entry: ScopeEntry): string {
  switch (entry.list) {
    case "projects":
      return `projects/${entry.project}`;
    case "virtualClusters":
      return `virtualClusters/${entry.project}/${entry.virtualCluster}`;
    case "spaces":
      return `spaces/${entry.project}/${entry.space}`;
    case "clusters":
      return `clusters/${entry.cluster}`;
    case "roles":
      return `roles/${entry.role}`;
  }
}

/** `spec.scope` with these entries, without those that others among them cover. */
export function scopeOf(entries: readonly ScopeEntry[]): JsonObject {
  const projects = new Set(entries.flatMap((entry) => (entry.list === "projects" ? [entry.project] : [])));
  const needed = entries.filter(
    (entry) => !((entry.list === "virtualClusters" || entry.list === "spaces") && projects.has(entry.project)),
  );
  const scope: { [list: string]: JsonObject[] } = {};
  for (const { list, ...members } of needed) {
    scope[list] ??= [];
    scope[list].push(members);
  }
  return scope;
}

/** For people, such as `create management.postern/virtualclusterinstances/kubeconfig p-default/demo`. */
export function describeRequest({ target, inner }: PlatformRequest): string {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name, path } = inner;
  const where = target === "Management" ? "" : `${target}: `;
  if (!isResourceRequest) return `${where}${verb} ${path}`;
  const what = [apiGroup, resource, subresource].filter((part) => part !== "").join("/");
  const which = [namespace, name].filter((part) => part !== "").join("/");
  return `${where}${verb} ${what}${which === "" ? "" : ` ${which}`}`;
}
