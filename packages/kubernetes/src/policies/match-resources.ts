// Whether a policy or binding applies to a request, and in which equivalent version of the object.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, plugin/webhook/predicates/rules/rules.go

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { MatchResources, MatchRule } from "./validating-admission-policy.ts";

/** The questions about each request, with selectors parsed once. */
export type CompiledMatch = Omit<MatchResources, "namespaceSelector" | "objectSelector"> & {
  /** Undefined: selects everything. */
  readonly namespaces: ParsedSelector | undefined;
  readonly objects: ParsedSelector | undefined;
};

type ParsedSelector = Pick<ReturnType<typeof selectorFromLabelSelector>, "matches">;

export const compileMatch = ({ namespaceSelector, objectSelector, ...match }: MatchResources): CompiledMatch => ({
  ...match,
  namespaces: parsedSelector(namespaceSelector),
  objects: parsedSelector(objectSelector),
});

function parsedSelector(selector: Selector): ParsedSelector | undefined {
  if (isEmpty(selector)) return undefined;
  try {
    // Its type says less than the schema that it has passed.
    return selectorFromLabelSelector(selector as never);
  } catch {
    // A selector that means nothing selects nothing.
    return { matches: () => false };
  }
}

function matchesRequest(
  match: CompiledMatch | undefined,
  attributes: AdmissionAttributes,
  namespaceObject: KubeObject | undefined,
): boolean {
  if (match === undefined) return true;
  const { resourceRules = [], namespaces, objects } = match;
  // First what costs least, and is about few requests.
  if (resourceRules.length > 0 && !resourceRules.some((rule) => matchesRule(rule, attributes))) return false;
  if (!selects(namespaces, namespaceLabels(attributes, namespaceObject))) return false;
  if (objects === undefined) return true;
  const { object, oldObject } = attributes;
  return [object, oldObject].some((each) => each !== undefined && objects.matches(each.metadata.labels));
}

/** Whether a rule leaves the request out, whatever the others say. */
const isExcluded = ({ excludeResourceRules = [] }: CompiledMatch, attributes: AdmissionAttributes): boolean =>
  excludeResourceRules.some((rule) => matchesRule(rule, attributes));

type Selector = MatchResources["objectSelector"];
type Labels = { readonly [label: string]: string } | undefined;

const isEmpty = (selector: Selector): boolean =>
  selector === undefined ||
  (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);

const selects = (selector: ParsedSelector | undefined, labels: Labels | "all"): boolean =>
  selector === undefined || labels === "all" || selector.matches(labels);

/** Of a namespace they are its own; of what is in none, every selector is about it. */
function namespaceLabels(
  { resource, namespace, object, oldObject }: AdmissionAttributes,
  found: KubeObject | undefined,
): Labels | "all" {
  if (resource.group === "" && resource.plural === "namespaces") return (object ?? oldObject)?.metadata.labels;
  return namespace === "" ? "all" : found?.metadata.labels;
}

function matchesRule(
  rule: MatchRule,
  { resource, subresource, operation, namespace, name }: AdmissionAttributes,
): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], resourceNames = [], scope = "*" } = rule;
  const has = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  const isNamespaced = namespace !== "" && !(resource.group === "" && resource.plural === "namespaces");
  return (
    has(operations, operation.toUpperCase()) &&
    has(apiGroups, resource.group) &&
    has(apiVersions, resource.version) &&
    resources.some((pattern) => matchesResource(pattern, resource.plural, subresource)) &&
    (resourceNames.length === 0 || resourceNames.includes(name)) &&
    (scope === "*" || (scope === "Namespaced") === isNamespaced)
  );
}

function matchesResource(pattern: string, plural: string, subresource: string): boolean {
  const [wanted = "", part = ""] = pattern.split("/");
  if (pattern === "*/*") return true;
  return (wanted === "*" || wanted === plural) && (part === "*" || part === subresource);
}

// In which version of an object what matches requests is asked about one: the one of the request, or another in which the same objects are served.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, plugin/webhook/generic/webhook.go (ShouldCallHook)

/** A request in a version that is asked for. */
export type SeenRequest = {
  readonly attributes: AdmissionAttributes;
  readonly seenAs: ResourceDefinition;
  /** An object of that version, in the one of the request. */
  back(object: KubeObject): Awaitable<KubeObject>;
};

type Versions = Pick<ResourceRegistry, "resources">;

/** Undefined where the request is not meant, in no version that `matchPolicy` lets it be seen in. */
export function versionMeant(
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
export async function seenIn(
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

/** Through what is stored, as objects are read. */
const convertor =
  (from: ResourceDefinition, to: ResourceDefinition) =>
  (object: KubeObject): KubeObject => {
    const stored = from.conversion?.toStored(object) ?? object;
    const served = to.conversion?.toServed(stored) ?? stored;
    return { ...served, apiVersion: formatApiVersion(to), kind: to.kind };
  };
