// Discovery of everything in one document.
// Source: k8s.io/apiserver/pkg/endpoints/discovery/aggregated

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { type ResourceDefinition, singularOf } from "../../registry/resource-definition.ts";
import type { OutputRestrictions } from "../negotiation/negotiate-output.ts";
import type { ApiGroup, ApiVersion } from "./api-groups.ts";
import { servedSubresources, servedVerbs } from "./served-resource.ts";

const GROUP = "apidiscovery.k8s.io";
const VERSION = "v2";
const KIND = "APIGroupDiscoveryList";

const isAggregated = ({ group, version, kind }: GroupVersionKind): boolean =>
  group === GROUP && kind === KIND && version === VERSION;

/** `/api` and `/apis` can be asked for as aggregated documents. */
export const AGGREGATED_OUTPUT: OutputRestrictions = {
  allows: (_, target) => target === undefined || isAggregated(target),
  allowsStream: () => false,
};

/** The parameters that the Content-Type must echo, or client-go takes the answer for a legacy document. */
export const AGGREGATED_PARAMETERS = `g=${GROUP};v=${VERSION};as=${KIND}`;

/** The text of the document. `textOf` gives that of `resourceDiscovery`. */
export const aggregatedDiscovery = (
  groups: readonly ApiGroup[],
  textOf: (resource: ResourceDefinition) => string,
): string => {
  const head = stringifyJson({ kind: KIND, apiVersion: `${GROUP}/${VERSION}`, metadata: {} });
  const items = groups.map(({ name, versions }) => {
    const metadata = name === "" ? {} : { name };
    const texts = versions.map((each) => versionDiscovery(each, textOf));
    return `{"metadata":${stringifyJson(metadata)},"versions":[${texts.join(",")}]}`;
  });
  return `${head.slice(0, -1)},"items":[${items.join(",")}]}`;
};

const versionDiscovery = (
  { version, resources }: ApiVersion,
  textOf: (resource: ResourceDefinition) => string,
): string =>
  `{"version":${stringifyJson(version)},"resources":[${resources.map(textOf).join(",")}],"freshness":"Current"}`;

export function resourceDiscovery(resource: ResourceDefinition): JsonObject {
  const { group, version, kind, plural, namespaced, shortNames = [], categories = [] } = resource;
  const subresources = servedSubresources(resource).map(({ name, kind: responseKind, verbs }) => ({
    subresource: name,
    responseKind: kindMembers(responseKind),
    verbs,
  }));
  return {
    resource: plural,
    responseKind: kindMembers({ group, version, kind }),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singularOf(resource),
    verbs: servedVerbs(resource),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

const kindMembers = ({ group, version, kind }: GroupVersionKind): JsonObject => ({ group, version, kind });
