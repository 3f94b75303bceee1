// The conditions of both kinds of flow control.
// Source: k8s.io/api/flowcontrol/v1/types.go (FlowSchemaCondition, PriorityLevelConfigurationCondition)

import { s } from "@postern/apimachinery/schema/builder";
import { mergedInPatches } from "../builtin-resource.ts";

export const flowControlConditions = () =>
  mergedInPatches(
    s.listMap(
      s.object({
        type: s.string(),
        status: s.string(),
        lastTransitionTime: s.timestamp(),
        reason: s.string(),
        message: s.string(),
      }),
      ["type"],
    ),
    "type",
  );
