// The scope and the rules of an access key in words, on one line.

import { clusterSelectorText } from "@postern/api/cluster-selector";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { listAt, textAt } from "../output/json-members.ts";

export const FULL_SCOPE = "full: all permissions of its owner";

/** Such as `project shop, virtual cluster shop/dev, 2 rules`. */
export function scopeWords(scope: JsonObject): string {
  const parts = Object.entries(scope).flatMap(([member, value]) => {
    const words = ENTRIES[member];
    if (words !== undefined) return listAt(scope, member).map(words);
    // The flags of command lines.
    return value === true ? [member] : [];
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

const ENTRIES: { readonly [member: string]: (entry: JsonValue) => string } = {
  projects: (entry) => namedOrAll("project", textAt(entry, "project")),
  virtualClusters: (entry) => {
    const [project, name] = [textAt(entry, "project"), textAt(entry, "virtualCluster")];
    const selector = isJsonObject(entry) ? entry["selector"] : undefined;
    const place = inProject("virtual cluster", project, selector !== undefined && name === "" ? "*" : name);
    return selector === undefined ? place : `${place} with ${clusterSelectorText(selector)}`;
  },
  spaces: (entry) => inProject("space", textAt(entry, "project"), textAt(entry, "space")),
  clusters: (entry) => namedOrAll("cluster", textAt(entry, "cluster")),
  roles: (entry) =>
    [
      `role ${textAt(entry, "role")}`,
      ...phrase("in projects", listAt(entry, "projects")),
      ...phrase("of virtual clusters", listAt(entry, "virtualClusters")),
    ].join(" "),
  rules: (entry) => `rule to ${ruleWords(entry)}`,
};

const namedOrAll = (kind: string, name: string): string => (name === "*" ? `all ${kind}s` : `${kind} ${name}`);

const inProject = (kind: string, project: string, name: string): string =>
  name === "*" ? `all ${kind}s of ${namedOrAll("project", project)}` : `${kind} ${project}/${name}`;

/** Such as `get and list pods, deployments.apps in namespaces a`. A list that is empty leaves its field open. */
export function ruleWords(rule: JsonValue): string {
  const resources = listAt(rule, "resources").map((entry) => {
    const group = textAt(entry, "group");
    const listed = listAt(entry, "resources");
    const words = (listed.length === 0 ? ["*"] : listed).map((name) => `${name}${group === "" ? "" : `.${group}`}`);
    return [words.join(", "), ...phrase("named", listAt(entry, "resourceNames"))].join(" ");
  });
  const paths = listAt(rule, "nonResourceURLs").map(String);
  const verbs = listAt(rule, "verbs").map(String);
  const virtualClusters = listAt(rule, "virtualClusters").map((entry) =>
    isJsonObject(entry) ? `${textAt(entry, "namespace")}/${textAt(entry, "name")}` : String(entry),
  );
  return [
    verbs.length === 0 || verbs.includes("*") ? "do everything with" : verbs.join(", "),
    [...resources, ...paths].join(", ") || "all resources",
    ...phrase("in namespaces", listAt(rule, "namespaces")),
    ...phrase("of", listAt(rule, "requestTargets").map(targetWords)),
    ...phrase("in cluster", textAt(rule, "cluster") === "" ? [] : [textAt(rule, "cluster")]),
    ...phrase("in virtual clusters", virtualClusters),
  ].join(" ");
}

const TARGETS: { readonly [target: string]: string } = {
  Management: "the management API",
  Cluster: "clusters",
  ProjectSpace: "spaces",
  ProjectVirtualCluster: "virtual clusters",
};

const targetWords = (target: JsonValue): string => TARGETS[String(target)] ?? String(target);

const phrase = (words: string, list: readonly JsonValue[]): readonly string[] =>
  list.length === 0 ? [] : [`${words} ${list.map(String).join(", ")}`];
