// Status conditions.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Condition)

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";

const conditionFields = s.object({
  type: s.string().required().describe("Type of the condition, in CamelCase."),
  status: s.string().required().describe("Status of the condition: True, False or Unknown."),
  lastTransitionTime: s.timestamp().describe("Last time the status of the condition changed."),
  severity: s.string().describe("Severity while the status is False: Error, Warning or Info."),
  reason: s.string().describe("Machine-readable reason for the last transition, in CamelCase."),
  message: s.string().describe("Human-readable message about the last transition."),
});
export type Condition = Infer<typeof conditionFields>;

export const conditionsField = s
  .listMap(conditionFields, ["type"])
  .describe("Conditions of the object. Set by the server.");

export type ConditionState = Pick<Condition, "type" | "reason" | "message"> & { readonly holds: boolean };

/** The list with one condition as it is now. The time of its change stays where its status does. `now` in milliseconds. */
export function withCondition(
  conditions: readonly Condition[],
  { holds, ...state }: ConditionState,
  now: number,
): readonly Condition[] {
  const status = holds ? "True" : "False";
  const before = conditions.find(({ type }) => type === state.type);
  const lastTransitionTime =
    before?.status === status ? (before.lastTransitionTime ?? formatTimestamp(now)) : formatTimestamp(now);
  const next = { ...state, status, lastTransitionTime };
  return before === undefined
    ? [...conditions, next]
    : conditions.map((condition) => (condition.type === state.type ? next : condition));
}
