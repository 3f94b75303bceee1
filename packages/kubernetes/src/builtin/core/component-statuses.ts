// ComponentStatuses: whether the parts of the control plane are healthy. Deprecated since 1.19, and read by old tools. A cluster that answers has its
// store and its controllers, so both are; there is no scheduler.
// Source: k8s.io/kubernetes/pkg/registry/core/componentstatus/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin, mergedInPatches } from "../builtin-resource.ts";

const fields = s.object({
  conditions: mergedInPatches(
    s.listMap(
      s.object({
        type: s.string().required(),
        status: s.string().required(),
        message: s.string(),
        error: s.string(),
      }),
      ["type"],
    ),
    "type",
  ),
});

type ComponentStatus = KindOf<typeof fields>;

const PARTS = ["controller-manager", "etcd-0"];

const healthy = ({ conditions = [] }: ComponentStatus) => conditions.find(({ type }) => type === "Healthy");

const column = (name: string, of: (status: ComponentStatus) => string): PrinterColumn => ({
  name,
  type: "string",
  value: (object) => of(object as ComponentStatus),
});

export const componentStatuses: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "ComponentStatus",
  plural: "componentstatuses",
  shortNames: ["cs"],
  namespaced: false,
  verbs: ["get", "list"],
  deprecationWarning: "v1 ComponentStatus is deprecated in v1.19+",
  schema: kindSchema(fields.schema),
  columns: [
    column("Status", (status) => (healthy(status)?.status === "True" ? "Healthy" : "Unhealthy")),
    column("Message", (status) => healthy(status)?.message ?? ""),
    column("Error", (status) => healthy(status)?.error ?? ""),
  ],
  compute: () =>
    PARTS.map((name) => ({
      apiVersion: "v1",
      kind: "ComponentStatus",
      metadata: { name },
      conditions: [{ type: "Healthy", status: "True", message: "ok" }],
    })),
});
