// ComponentStatuses: whether the parts of the control plane are healthy. Deprecated since 1.19, and read by old tools. A cluster that answers has its
// store and its controllers, so both are; there is no scheduler.
// Source: k8s.io/kubernetes/pkg/registry/core/componentstatus/rest.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin, mergedInPatches } from "../builtin-resource.ts";

const fields = s
  .object({
    conditions: mergedInPatches(
      s.listMap(
        s.object({
          type: s.string().required().describe('Type of condition for a component. Valid value: "Healthy"'),
          status: s.string().required().describe("Status of the condition for a component."),
          message: s.string().describe("Message about the condition for a component."),
          error: s.string().describe("Condition error code for a component."),
        }),
        ["type"],
      ),
      "type",
    ).describe("List of component conditions observed"),
  })
  .describe("ComponentStatus (and ComponentStatusList) holds the cluster validation info.");

type ComponentStatus = KindOf<typeof fields>;

const PARTS = ["controller-manager", "etcd-0"];

const healthy = ({ conditions = [] }: ComponentStatus) => conditions.find(({ type }) => type === "Healthy");

const column = (name: string, description: string, of: (status: ComponentStatus) => string): PrinterColumn => ({
  name,
  type: "string",
  description,
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
    column("Status", "Status of the component conditions", (status) =>
      healthy(status)?.status === "True" ? "Healthy" : "Unhealthy",
    ),
    column("Message", "Message of the component conditions", (status) => healthy(status)?.message ?? ""),
    column("Error", "Error of the component conditions", (status) => healthy(status)?.error ?? ""),
  ],
  compute: () =>
    PARTS.map((name) => ({
      apiVersion: "v1",
      kind: "ComponentStatus",
      metadata: { name },
      conditions: [{ type: "Healthy", status: "True", message: "ok" }],
    })),
});
