// Whether a policy or binding applies to a request.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go, plugin/webhook/predicates/rules/rules.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
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

export function matchesRequest(
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
export const isExcluded = ({ excludeResourceRules = [] }: CompiledMatch, attributes: AdmissionAttributes): boolean =>
  excludeResourceRules.some((rule) => matchesRule(rule, attributes));

type Selector = MatchResources["objectSelector"];
type Labels = { readonly [label: string]: string } | undefined;

const isEmpty = (selector: Selector): boolean =>
  selector === undefined ||
  (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);

const selects = (selector: ParsedSelector | undefined, labels: Labels | "all"): boolean =>
  selector === undefined || labels === "all" || selector.matches(labels);

/** A namespace has its own labels; every selector matches objects outside of namespaces. */
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
