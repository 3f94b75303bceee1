// The version of an object in which a policy or webhook sees a request: that of the request, or another in which the same objects are served.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, plugin/webhook/generic/webhook.go (ShouldCallHook)

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { type CompiledMatch, isExcluded, matchesRequest } from "./match-resources.ts";

/** A request as seen in one version. */
export type SeenRequest = {
  readonly attributes: AdmissionAttributes;
  readonly seenAs: ResourceDefinition;
  /** An object of that version, in the one of the request. */
  back(object: KubeObject): Awaitable<KubeObject>;
};

type Versions = Pick<ResourceRegistry, "resources">;

/** Undefined where the request is not meant, in no version that `matchPolicy` lets it be seen in. */
export function matchingVersion(
  match: CompiledMatch | undefined,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  registry: Versions,
): ResourceDefinition | undefined {
  const { resource } = attributes;
  if (match === undefined) return resource;
  const versions = match.matchPolicy === "Exact" ? [resource] : [resource, ...equivalentsOf(resource, registry)];
  // A resource that is excluded in one version is excluded in all of them.
  if (versions.some((version) => isExcluded(match, { ...attributes, resource: version }))) return undefined;
  return versions.find((version) => matchesRequest(match, { ...attributes, resource: version }, space));
}

/** The other versions in which the same objects are served. */
export function equivalentsOf(resource: ResourceDefinition, { resources }: Versions): readonly ResourceDefinition[] {
  if (resource.otherVersions === undefined && resource.storedAs === undefined && resource.conversion === undefined)
    return [];
  const own = resources.find(({ definition }) => definition === resource);
  return resources.flatMap(({ definition, keys }) =>
    keys.prefix === own?.keys.prefix && definition !== resource ? [definition] : [],
  );
}

/** Rejects with ApiError 500 where a webhook that converts objects does not answer. */
export async function inVersion(
  attributes: AdmissionAttributes,
  seenAs: ResourceDefinition,
  registry: Versions,
): Promise<SeenRequest> {
  const { resource, object, oldObject, context } = attributes;
  if (seenAs === resource) return { attributes, seenAs, back: (changed) => changed };
  const conversion = registry.resources.find(({ definition }) => definition === seenAs)?.conversion;
  if (conversion !== undefined) {
    const convert = async (objects: readonly KubeObject[], to: ResourceDefinition) =>
      await (context.outside ?? ((work) => work()))(() => conversion.convert(objects, to, context));
    const asked = [object, oldObject].filter((each) => each !== undefined);
    const converted = (await convert(asked, seenAs)).values();
    return {
      seenAs,
      attributes: {
        ...attributes,
        object: object && withRevisionOf(converted.next().value, object),
        oldObject: oldObject && withRevisionOf(converted.next().value, oldObject),
      },
      back: async (changed) => withRevisionOf((await convert([changed], resource))[0], changed),
    };
  }
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

/** A conversion is not shown the revision. */
function withRevisionOf(converted: KubeObject | undefined, { metadata, ...rest }: KubeObject): KubeObject {
  const { resourceVersion } = metadata;
  const object = converted ?? { ...rest, metadata };
  return resourceVersion === undefined ? object : { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** Converts by way of the stored version, as a read does. */
const convertor =
  (from: ResourceDefinition, to: ResourceDefinition) =>
  (object: KubeObject): KubeObject => {
    const stored = from.conversion?.toStored(object) ?? object;
    const served = to.conversion?.toServed(stored) ?? stored;
    return { ...served, apiVersion: formatApiVersion(to), kind: to.kind };
  };
