// FlowSchemas: which requests belong to which priority level. They are stored; the server's own flow control does not read them.
// Source: k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema/strategy.go, pkg/printers/internalversion/printers.go (printFlowSchema)

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { flowControlConditions } from "./flow-control-conditions.ts";
import { validateFlowSchema } from "./validate-flow-schema.ts";

const fields = s.object({
  spec: s.object({
    priorityLevelConfiguration: s.object({
      name: s.string(),
    }),
    matchingPrecedence: s.int32(),
    distinguisherMethod: s.object({
      type: s.string(),
    }),
    rules: s.list(
      s.object({
        subjects: s.list(
          s.object({
            kind: s.string(),
            user: s.object({
              name: s.string(),
            }),
            group: s.object({
              name: s.string(),
            }),
            serviceAccount: s.object({
              namespace: s.string(),
              name: s.string(),
            }),
          }),
        ),
        resourceRules: s.list(
          s.object({
            verbs: s.set(s.string()),
            apiGroups: s.set(s.string()),
            resources: s.set(s.string()),
            clusterScope: s.boolean(),
            namespaces: s.set(s.string()).nullable(),
          }),
        ),
        nonResourceRules: s.list(
          s.object({
            verbs: s.set(s.string()),
            nonResourceURLs: s.set(s.string()),
          }),
        ),
      }),
    ),
  }),
  status: s.object({
    conditions: flowControlConditions(),
  }),
});

type FlowSchema = KindOf<typeof fields>;

const DEFAULT_PRECEDENCE = 1000;

export const flowSchemas: ResourceDefinition = defineBuiltin({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind: "FlowSchema",
  plural: "flowschemas",
  namespaced: false,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(fields.schema),
  columns: [
    {
      name: "PriorityLevel",
      type: "string",
      value: ".spec.priorityLevelConfiguration.name",
    },
    {
      name: "MatchingPrecedence",
      type: "string",
      value: (object) => (object as FlowSchema).spec?.matchingPrecedence ?? 0,
    },
    {
      name: "DistinguisherMethod",
      type: "string",
      value: (object) => (object as FlowSchema).spec?.distinguisherMethod?.type ?? "<none>",
    },
    ageColumn,
    {
      name: "MissingPL",
      type: "string",
      value: (object) =>
        ((object as FlowSchema).status?.conditions ?? []).find(({ type }) => type === "Dangling")?.status ?? "?",
    },
  ],
  setDefaults: (object) => {
    const { spec = {} } = object as FlowSchema;
    return { ...object, spec: { ...spec, matchingPrecedence: spec.matchingPrecedence || DEFAULT_PRECEDENCE } };
  },
  strategy: statusStrategy<FlowSchema>(({ metadata, spec = {} }) => validateFlowSchema(metadata.name ?? "", spec)),
});
