// FlowSchemas: which requests belong to which priority level. They are stored; the server's own flow control does not read them.
// Source: k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema/strategy.go, pkg/printers/internalversion/printers.go (printFlowSchema)

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { flowControlConditions } from "./flow-control-conditions.ts";
import { validateFlowSchema } from "./validate-flow-schema.ts";

const fields = s
  .object({
    spec: s
      .object({
        priorityLevelConfiguration: s
          .object({
            name: s
              .string()
              .describe("`name` is the name of the priority level configuration being referenced Required."),
          })
          .describe("`priorityLevelConfiguration` should reference a PriorityLevelConfiguration in the cluster."),
        matchingPrecedence: s
          .int32()
          .describe("`matchingPrecedence` is used to choose among the FlowSchemas that match a given request."),
        distinguisherMethod: s
          .object({
            type: s
              .string()
              .describe(
                '`type` is the type of flow distinguisher method The supported types are "ByUser" and "ByNamespace".',
              ),
          })
          .describe(
            "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema.",
          ),
        rules: s
          .list(
            s.object({
              subjects: s
                .list(
                  s.object({
                    kind: s.string().describe("`kind` indicates which one of the other fields is non-empty."),
                    user: s
                      .object({
                        name: s
                          .string()
                          .describe('`name` is the username that matches, or "*" to match all usernames.'),
                      })
                      .describe("`user` matches based on username."),
                    group: s
                      .object({
                        name: s
                          .string()
                          .describe('name is the user group that matches, or "*" to match all user groups.'),
                      })
                      .describe("`group` matches based on user group name."),
                    serviceAccount: s
                      .object({
                        namespace: s
                          .string()
                          .describe("`namespace` is the namespace of matching ServiceAccount objects."),
                        name: s
                          .string()
                          .describe(
                            '`name` is the name of matching ServiceAccount objects, or "*" to match regardless of name.',
                          ),
                      })
                      .describe("`serviceAccount` matches ServiceAccounts."),
                  }),
                )
                .describe("subjects is the list of normal user, serviceaccount, or group that this rule cares about."),
              resourceRules: s
                .list(
                  s.object({
                    verbs: s.set(s.string()).describe("`verbs` is a list of matching verbs and may not be empty."),
                    apiGroups: s
                      .set(s.string())
                      .describe("`apiGroups` is a list of matching API groups and may not be empty."),
                    resources: s
                      .set(s.string())
                      .describe(
                        "`resources` is a list of matching resources (i.e., lowercase and plural) with, if desired, subresource.",
                      ),
                    clusterScope: s
                      .boolean()
                      .describe(
                        "`clusterScope` indicates whether to match requests that do not specify a namespace (which happens either because the resource is not namespaced or the request targets all namespaces).",
                      ),
                    namespaces: s
                      .set(s.string())
                      .nullable()
                      .describe("`namespaces` is a list of target namespaces that restricts matches."),
                  }),
                )
                .describe(
                  "`resourceRules` is a slice of ResourcePolicyRules that identify matching requests according to their verb and the target resource.",
                ),
              nonResourceRules: s
                .list(
                  s.object({
                    verbs: s.set(s.string()).describe("`verbs` is a list of matching verbs and may not be empty."),
                    nonResourceURLs: s
                      .set(s.string())
                      .describe(
                        "`nonResourceURLs` is a set of url prefixes that a user should have access to and may not be empty.",
                      ),
                  }),
                )
                .describe(
                  "`nonResourceRules` is a list of NonResourcePolicyRules that identify matching requests according to their verb and the target non-resource URL.",
                ),
            }),
          )
          .describe("`rules` describes which requests will match this flow schema."),
      })
      .describe("`spec` is the specification of the desired behavior of a FlowSchema."),
    status: s
      .object({
        conditions: flowControlConditions().describe("`conditions` is a list of the current states of FlowSchema."),
      })
      .describe("`status` is the current status of a FlowSchema."),
  })
  .describe("FlowSchema defines the schema of a group of flows.");

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
      description: "`name` is the name of the priority level configuration being referenced Required.",
      value: ".spec.priorityLevelConfiguration.name",
    },
    {
      name: "MatchingPrecedence",
      type: "string",
      description: "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request.",
      // Stored objects have passed the schema of their kind, here and below.
      value: (object) => (object as FlowSchema).spec?.matchingPrecedence ?? 0,
    },
    {
      name: "DistinguisherMethod",
      type: "string",
      description:
        "`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema.",
      value: (object) => (object as FlowSchema).spec?.distinguisherMethod?.type ?? "<none>",
    },
    ageColumn,
    {
      name: "MissingPL",
      type: "string",
      description: "references a broken or non-existent PriorityLevelConfiguration",
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
