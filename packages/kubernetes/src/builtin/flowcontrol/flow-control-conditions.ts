// The conditions of both kinds of flow control.
// Source: k8s.io/api/flowcontrol/v1/types.go (FlowSchemaCondition, PriorityLevelConfigurationCondition)

import { s } from "@postern/apimachinery/schema/builder";
import { mergedInPatches } from "../builtin-resource.ts";

export const flowControlConditions = () =>
  mergedInPatches(
    s.listMap(
      s.object({
        type: s.string().describe("`type` is the type of the condition."),
        status: s.string().describe("`status` is the status of the condition."),
        lastTransitionTime: s
          .timestamp()
          .describe("`lastTransitionTime` is the last time the condition transitioned from one status to another."),
        reason: s
          .string()
          .describe("`reason` is a unique, one-word, CamelCase reason for the condition's last transition."),
        message: s.string().describe("`message` is a human-readable message indicating details about last transition."),
      }),
      ["type"],
    ),
    "type",
  );
