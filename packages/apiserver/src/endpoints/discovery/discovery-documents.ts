// All discovery documents for a changing set of resources, built on first use. The text of a resource is kept while it stays the same, and documents
// are joined from texts: a cluster may have thousands of versions.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { aggregatedDiscovery, resourceDiscovery } from "./aggregated-discovery.ts";
import { type ApiGroup, apiGroups } from "./api-groups.ts";
import { apiGroup, apiGroupList, apiResourceList, apiResources } from "./legacy-discovery.ts";
import { lazily } from "./per-revision.ts";
import { type PreparedDocument, prepareDocument } from "./prepared-document.ts";

export type DiscoveryDocuments = {
  readonly groups: readonly ApiGroup[];
  readonly core: ApiGroup | undefined;
  readonly groupList: () => PreparedDocument;
  /** `prefix` says which groups: `api` the core one, `apis` all others. */
  aggregated(prefix: "api" | "apis"): PreparedDocument;
  /** Undefined for a group that is not served; "" is the core group, which has no such document. */
  group(name: string): PreparedDocument | undefined;
  /** Undefined for a version that is not served. */
  resourceList(group: string, version: string): PreparedDocument | undefined;
  /** Whether a version is one of the kinds that have a Go type upstream. */
  isBuiltIn(group: string, version: string): boolean;
  /** The paths of these documents. */
  readonly paths: readonly string[];
};

export function createDiscoveryDocuments(): (resources: readonly ResourceDefinition[]) => DiscoveryDocuments {
  const aggregatedText = keptText((resource) => stringifyJson(resourceDiscovery(resource)));
  const legacyText = keptText((resource) => stringifyJson(apiResources(resource)).slice(1, -1));
  return (resources) => discoveryDocuments(resources, { aggregatedText, legacyText });
}

type TextOf = (resource: ResourceDefinition) => string;

function keptText(write: TextOf): TextOf {
  const texts = new WeakMap<ResourceDefinition, string>();
  return (resource) => {
    const text = texts.get(resource) ?? write(resource);
    texts.set(resource, text);
    return text;
  };
}

function discoveryDocuments(
  resources: readonly ResourceDefinition[],
  { aggregatedText, legacyText }: { readonly aggregatedText: TextOf; readonly legacyText: TextOf },
): DiscoveryDocuments {
  const groups = apiGroups(resources);
  const core = groups.find(({ name }) => name === "");
  const named = groups.filter(({ name }) => name !== "");
  const groupsOf = { api: core === undefined ? [] : [core], apis: named };

  const aggregate = (prefix: "api" | "apis") =>
    lazily(() => prepareDocument(aggregatedDiscovery(groupsOf[prefix], aggregatedText)));
  const aggregated = { api: aggregate("api"), apis: aggregate("apis") };
  const groupDocuments = new Map(named.map((group) => [group.name, lazily(() => prepareDocument(apiGroup(group)))]));
  const resourceLists = new Map(
    groups
      .flatMap(({ versions }) => versions)
      .map((version) => [
        `${version.group}/${version.version}`,
        lazily(() => prepareDocument(apiResourceList(version, legacyText))),
      ]),
  );

  const builtIn = new Set(
    resources
      .filter(({ strategicMergePatch }) => strategicMergePatch === true)
      .map(({ group, version }) => `${group}/${version}`),
  );

  return {
    groups,
    core,
    groupList: lazily(() => prepareDocument(apiGroupList(groups))),
    aggregated: (prefix) => aggregated[prefix](),
    group: (name) => groupDocuments.get(name)?.(),
    resourceList: (group, version) => resourceLists.get(`${group}/${version}`)?.(),
    isBuiltIn: (group, version) => builtIn.has(`${group}/${version}`),
    paths: documentPaths(groups),
  };
}

const documentPaths = (groups: readonly ApiGroup[]): readonly string[] => [
  "/api",
  "/apis",
  "/apis/",
  ...groups.flatMap(({ name, versions }) =>
    name === ""
      ? versions.map(({ version }) => `/api/${version}`)
      : [`/apis/${name}`, ...versions.map(({ version }) => `/apis/${name}/${version}`)],
  ),
];
