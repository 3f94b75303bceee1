// Conditions of workloads.
// Source: k8s.io/kubernetes/pkg/controller/deployment/util/deployment_util.go (SetDeploymentCondition), replicaset/replica_set_utils.go

export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastProbeTime?: string;
};

export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((each) => each.type === type);

export const holds = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === "True";

export const withoutCondition = (conditions: readonly Condition[], type: string): readonly Condition[] =>
  conditions.filter((each) => each.type !== type);

/**
 * As upstream, a condition with the same status and reason stays as it is: messages name amounts that change with every write, and writing them again
 * would be the next change.
 */
export function withCondition(conditions: readonly Condition[], next: Condition): readonly Condition[] {
  const current = conditionOf(conditions, next.type);
  if (current?.status === next.status && current.reason === next.reason) return conditions;
  const { lastTransitionTime } = current?.status === next.status ? current : next;
  return [
    ...withoutCondition(conditions, next.type),
    { ...next, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) },
  ];
}
