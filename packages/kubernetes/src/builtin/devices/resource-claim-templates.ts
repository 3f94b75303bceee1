// ResourceClaimTemplates: the claims that a controller makes for each pod that names them.
// Source: k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate/strategy.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { forbiddenError } from "@postern/apimachinery/validation/field-error";
import { validateAnnotations, validateLabels } from "@postern/apimachinery/validation/labels";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { type ClaimPermissions, requestedAdminFaults } from "./claim-permissions.ts";
import { withClaimDefaults } from "./device-defaults.ts";
import type { Faults } from "./device-names.ts";
import { DEVICES_GROUP, type ResourceClaimSpec, type ResourceClaimTemplate } from "./device-objects.ts";
import { deviceClaimFaults } from "./validate-device-claim.ts";

const fields = s.object({
  spec: s.object({
    metadata: s.field<KubeObject["metadata"]>(objectMetaSchema),
    spec: publishedField<ResourceClaimSpec>("ResourceClaimSpec"),
  }),
});

/** Members of metadata that a claim may get from its template. */
const TAKEN = ["annotations", "labels"];

function* validate({ spec = {} }: ResourceClaimTemplate): Steps<Faults> {
  const { metadata = {} } = spec;
  return [
    ...validateAnnotations(metadata.annotations, "spec.metadata.annotations"),
    ...validateLabels(metadata.labels, "spec.metadata.labels"),
    ...Object.keys(metadata)
      .filter((name) => !TAKEN.includes(name))
      .map((name) => forbiddenError(`spec.metadata.${name}`, "cannot be set")),
    ...(yield* deviceClaimFaults("spec.spec.devices", spec.spec?.devices)),
  ];
}

const strategyOf = (permissions: ClaimPermissions): Strategy<ResourceClaimTemplate> => ({
  allowUnconditionalUpdate: true,
  validate: async (template, context) => [
    ...(await requestedAdminFaults(
      template.spec?.spec?.devices,
      template.metadata.namespace ?? "",
      permissions,
      context,
    )),
    ...(await context.inParts(validate(template))),
  ],
  async validateUpdate(next, old, context) {
    // Objects are JSON; only their named types hide it.
    const immutable = validateImmutable((next.spec ?? null) as JsonValue, (old.spec ?? null) as JsonValue, "spec");
    // The same spec was checked when it was stored.
    return immutable.length === 0 ? [] : [...(await context.inParts(validate(next))), ...immutable];
  },
});

export const resourceClaimTemplates = (permissions: ClaimPermissions): ResourceDefinition =>
  defineBuiltin({
    group: DEVICES_GROUP,
    version: "v1",
    kind: "ResourceClaimTemplate",
    plural: "resourceclaimtemplates",
    returnsDeletedObject: true,
    namespaced: true,
    schema: kindSchema(fields.schema),
    columns: [ageColumn],
    setDefaults(object) {
      // Bodies of built-in kinds have passed their types by now.
      const { spec, ...template } = object as ResourceClaimTemplate;
      return {
        ...template,
        spec: { ...spec, ...(spec?.spec === undefined ? {} : { spec: withClaimDefaults(spec.spec) }) },
      } as KubeObject;
    },
    strategy: strategyOf(permissions),
  });
