// ControllerRevisions: the history of StatefulSets and DaemonSets.
// Source: k8s.io/kubernetes/pkg/registry/apps/controllerrevision/strategy.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, requiredError } from "@postern/apimachinery/validation/field-error";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../../builtin-resource.ts";
import { negativeFaults } from "../../field-checks.ts";

const revisionFields = s.object({
  data: s.field<JsonValue>({ ...s.any().schema, "x-kubernetes-map-type": "atomic" }),
  revision: s.int64(),
});

type Revision = KindOf<typeof revisionFields>;

const validateRevision = ({ data, revision }: Revision): readonly FieldError[] => [
  ...(data === undefined || data === null ? [requiredError("data", "data is mandatory")] : []),
  ...negativeFaults("revision", Number(revision ?? 0)),
];

/** Such as `statefulset.apps/web`. */
function controllerText({ metadata }: KubeObject): string {
  const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner === undefined) return "<none>";
  const [group = "", version] = (owner.apiVersion ?? "").split("/");
  const kind = owner.kind.toLowerCase();
  return `${version === undefined ? kind : `${kind}.${group}`}/${owner.name}`;
}

export const controllerRevisions: ResourceDefinition = defineBuiltin({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
  schema: kindSchema(revisionFields.schema),
  columns: [
    {
      name: "Controller",
      type: "string",
      value: (o) => controllerText(o),
    },
    {
      name: "Revision",
      type: "integer",
      value: ".revision",
    },
    ageColumn,
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: validateRevision,
    validateUpdate: (next: Revision, old: Revision) => [
      ...validateRevision(next),
      ...validateImmutable(next.data ?? null, old.data ?? null, "data"),
    ],
  },
});
