// The common part of ProjectSecrets and SharedSecrets: bytes by key with a display name, as clients of the original interface store them.

import { conditionsField } from "@postern/api/conditions";
import { accessRuleFields, ownerFields } from "@postern/api/owner";
import type { PlatformNames } from "@postern/api/platform-names";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { decodedSize, validateKeys, validateTotalSize } from "@postern/kubernetes/builtin/core/keyed-data";
import { presentReady } from "../../../foundation/kinds/present-ready.ts";

const fields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Display name. Defaults to the name of the object."),
        description: s.string().describe("Description of the content."),
        owner: ownerFields.describe("Owner. Has no effect: use roles and role bindings to grant access."),
        data: s.map(s.bytes()).describe("Bytes by key, in base64. Keys are alphanumeric, with '-', '_' and '.'."),
        access: s
          .list(accessRuleFields)
          .describe("Additional access rules. Has no effect: use roles and role bindings to grant access."),
      })
      .describe("Content and metadata."),
    status: s.object({ conditions: conditionsField }).describe("Status. Stored, but has no effect."),
  })
  .describe("Secret data, by key.");

type KeyedSecret = KindOf<typeof fields>;

export const keyedSecretSchema = kindSchema(fields.schema);

export const validateKeyedSecret = ({ spec }: KeyedSecret): readonly FieldError[] => [
  ...validateKeys(spec?.data, "spec.data"),
  ...validateTotalSize(decodedSize(spec?.data), "spec.data"),
];

const strategy: Strategy<KeyedSecret> = {
  allowUnconditionalUpdate: true,
  validate: validateKeyedSecret,
  validateUpdate: validateKeyedSecret,
};

export const keyedSecrets = (
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  kind: "ProjectSecret" | "SharedSecret",
): ResourceDefinition =>
  defineResource({
    group: managementGroup,
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: true,
    schema: keyedSecretSchema,
    hasStatus: true,
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      {
        name: "Data",
        type: "integer",
        description: "Number of keys.",
        // The store holds no other kind under this resource.
        value: (secret) => Object.keys((secret as KeyedSecret).spec?.data ?? {}).length,
      },
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: strategy as Strategy,
    present: presentReady("Kept"),
  });
