// In which version of an object what matches requests is asked about one: the one of the request, or another in which the same objects are served.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, plugin/webhook/generic/webhook.go (ShouldCallHook)

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { AdmissionAttributes } from "../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { ResourceRegistry } from "../registry/resource-registry.ts";
import { isExcluded, matchesRequest } from "./match-resources.ts";
import type { MatchResources } from "./validating-admission-policy.ts";

/** A request in a version that is asked for. */
export type SeenRequest = {
  readonly attributes: AdmissionAttributes;
  readonly seenAs: ResourceDefinition;
  /** An object of that version, in the one of the request. */
  back(object: KubeObject): KubeObject;
};

type Versions = Pick<ResourceRegistry, "resources">;

/** Undefined where the request is not meant, in no version that `matchPolicy` lets it be seen in. */
export function versionMeant(
  match: MatchResources | undefined,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  registry: Versions,
): ResourceDefinition | undefined {
  const { resource } = attributes;
  if (match === undefined) return resource;
  const versions = match.matchPolicy === "Exact" ? [resource] : [resource, ...equivalentsOf(resource, registry)];
  // What is left out in one version is left out in all of them.
  if (versions.some((version) => isExcluded(match, { ...attributes, resource: version }))) return undefined;
  return versions.find((version) => matchesRequest(match, { ...attributes, resource: version }, space));
}

/** The other versions in which the same objects are served. */
function equivalentsOf(resource: ResourceDefinition, { resources }: Versions): readonly ResourceDefinition[] {
  if (resource.otherVersions === undefined && resource.storedAs === undefined && resource.conversion === undefined)
    return [];
  const own = resources.find(({ definition }) => definition === resource);
  return resources.flatMap(({ definition, keys }) =>
    keys.prefix === own?.keys.prefix && definition !== resource ? [definition] : [],
  );
}

export function seenIn(attributes: AdmissionAttributes, seenAs: ResourceDefinition): SeenRequest {
  const { resource, object, oldObject } = attributes;
  if (seenAs === resource) return { attributes, seenAs, back: (changed) => changed };
  const there = convertor(resource, seenAs);
  return {
    seenAs,
    attributes: {
      ...attributes,
      object: object === undefined ? undefined : there(object),
      oldObject: oldObject === undefined ? undefined : there(oldObject),
    },
    back: convertor(seenAs, resource),
  };
}

/** Through what is stored, as objects are read. */
const convertor =
  (from: ResourceDefinition, to: ResourceDefinition) =>
  (object: KubeObject): KubeObject => {
    const stored = from.conversion?.toStored(object) ?? object;
    const served = to.conversion?.toServed(stored) ?? stored;
    return { ...served, apiVersion: formatApiVersion(to), kind: to.kind };
  };
