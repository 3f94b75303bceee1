// CustomResourceDefinitions of the management API, where the operator allows them (ADR 114), and how much may be stored of what they define.

import { ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { type FieldError, forbiddenError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { CompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import {
  APIEXTENSIONS_GROUP,
  type CustomResourceDefinition,
} from "@postern/kubernetes/custom-resources/custom-resource-definition";
import { customResourceDefinitions } from "@postern/kubernetes/custom-resources/custom-resource-definitions";

/** Each takes memory in every server, and time at every start. */
const MAX_DEFINITIONS = 100;
/** Objects of one definition. Custom resources share the store with all other objects, and must not fill it. */
const MAX_OBJECTS = 10_000;
const MAX_BYTES = 64 * 2 ** 20;

/** `ownGroups`: API groups of the server itself, in which nothing can be defined. */
export function managementDefinitions(
  compiled: CompiledDefinitions,
  ownGroups: ReadonlySet<string>,
  countOf: () => number,
): ResourceDefinition {
  const definition = customResourceDefinitions(compiled);
  // The strategy that this definition is made with.
  const strategy = definition.strategy as Strategy<CustomResourceDefinition>;
  const own: Strategy<CustomResourceDefinition> = {
    ...strategy,
    async validate(crd, context) {
      return [...faultsOf(crd, ownGroups), ...((await strategy.validate?.(crd, context)) ?? [])];
    },
    async validateUpdate(crd, old, context) {
      const faults = context.info.subresource === "status" ? [] : faultsOf(crd, ownGroups);
      return [...faults, ...((await strategy.validateUpdate?.(crd, old, context)) ?? [])];
    },
    limits: ({ metadata: { name = "" } }, old) =>
      old === undefined ? [{ name: "definitions", check: () => checkCount(name) }] : [],
  };
  function checkCount(name: string): void {
    if (countOf() < MAX_DEFINITIONS) return;
    const resource = { group: APIEXTENSIONS_GROUP, resource: definition.plural };
    throw forbiddenRequestError(resource, name, `the management API takes ${MAX_DEFINITIONS} definitions at most`);
  }
  return { ...definition, strategy: own as Strategy };
}

const faultsOf = (
  { spec: { group, conversion } }: CustomResourceDefinition,
  ownGroups: ReadonlySet<string>,
): readonly FieldError[] => [
  ...(ownGroups.has(group) ? [invalidError("spec.group", group, "must not be an API group of the server itself")] : []),
  ...(conversion?.strategy === "Webhook"
    ? [forbiddenError("spec.conversion.strategy", "the management API calls no webhooks: use None")]
    : []),
];

/** A definition whose objects take no more than their share of the store. */
export const withShare = (
  definition: ResourceDefinition,
  registry: Pick<ResourceRegistry, "find">,
): ResourceDefinition => ({
  ...definition,
  strategy: {
    ...definition.strategy,
    limits: (_, old) => [
      {
        name: `custom resources of ${definition.plural}.${definition.group}`,
        check: () => checkShare(definition, registry, old === undefined ? 1 : 0),
      },
    ],
  },
});

function checkShare(
  { group, version, plural }: ResourceDefinition,
  registry: Pick<ResourceRegistry, "find">,
  added: number,
): void {
  const resource = registry.find(group, version, plural);
  if (resource === undefined) return;
  const objects = resource.view.count(resource.keys.prefix);
  const bytes = resource.view.list(resource.keys.prefix).reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (objects + added <= MAX_OBJECTS && bytes < MAX_BYTES) return;
  throw new ApiError({
    code: 507,
    reason: "InsufficientStorage",
    message: `${plural}.${group} is full: it has ${objects} objects of ${MAX_OBJECTS} and ${bytes} bytes of ${MAX_BYTES}; delete some`,
  });
}
