// Fields and texts of kube-apiserver 1.32: pkg/apis/apps/validation/validation.go, pkg/apis/core/validation/validation.go.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { describe, expect, it } from "vitest";
import { pods, podTemplates } from "../pods/pods.ts";
import { daemonSets, deployments, replicaSets, statefulSets } from "./apps.ts";
import { replicationControllers } from "./replication-controllers.ts";

const container = { name: "c", image: "i:1" };
const template = { metadata: { labels: { app: "a" } }, spec: { containers: [container], restartPolicy: "Always" } };
const base = { selector: { matchLabels: { app: "a" } }, template };

/** The type and field of each error, without what all of a kind have in common. */
const faultsOf = ({ strategy, setDefaults }: ResourceDefinition, object: object): string[] => {
  const given = { metadata: {}, ...object } as any;
  const faults = (strategy as any).validate(setDefaults?.(given) ?? given, {} as any);
  return faults.map(({ field, type }: any) => `${field} ${type.replace("FieldValue", "")}`);
};
const faults = (kind: ResourceDefinition, spec: object) => faultsOf(kind, { spec: { ...base, ...spec } });

const ROLLING = "RollingUpdate";
const rolling = (rollingUpdate: object) => ({ type: ROLLING, rollingUpdate });

describe("how a workload replaces its pods", () => {
  it.each<[kind: ResourceDefinition, spec: object, expected: readonly string[]]>([
    [statefulSets, {}, []],
    [statefulSets, { podManagementPolicy: "Parallel" }, []],
    [statefulSets, { podManagementPolicy: "X" }, ["spec.podManagementPolicy Invalid"]],
    [statefulSets, { podManagementPolicy: "" }, ["spec.podManagementPolicy Required"]],
    [statefulSets, { updateStrategy: { type: "OnDelete" } }, []],
    [statefulSets, { updateStrategy: { type: "X" } }, ["spec.updateStrategy Invalid"]],
    [
      statefulSets,
      { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
      ["spec.updateStrategy.rollingUpdate Invalid"],
    ],
    [
      statefulSets,
      { updateStrategy: rolling({ partition: -1, maxUnavailable: 0 }) },
      [
        "spec.updateStrategy.rollingUpdate.partition Invalid",
        "spec.updateStrategy.rollingUpdate.maxUnavailable Invalid",
      ],
    ],
    [statefulSets, { updateStrategy: rolling({ maxUnavailable: "100%" }) }, []],
    [
      statefulSets,
      { updateStrategy: rolling({ maxUnavailable: "101%" }) },
      ["spec.updateStrategy.rollingUpdate.maxUnavailable Invalid"],
    ],
    [
      statefulSets,
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: "X", whenScaled: "" } },
      [
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted NotSupported",
        "spec.persistentVolumeClaimRetentionPolicy.whenScaled Required",
      ],
    ],
    [
      statefulSets,
      { replicas: -1, minReadySeconds: -1, ordinals: { start: -1 } },
      ["spec.replicas Invalid", "spec.minReadySeconds Invalid", "spec.ordinals.start Invalid"],
    ],
    // Upstream does not look at these.
    [statefulSets, { revisionHistoryLimit: -1 }, []],
    [statefulSets, { serviceName: "A_b" }, ["spec.serviceName Invalid"]],
    [deployments, {}, []],
    [deployments, { strategy: { type: "Recreate" } }, []],
    [deployments, { strategy: { type: "X" } }, ["spec.strategy NotSupported"]],
    [
      deployments,
      { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
      ["spec.strategy.rollingUpdate Forbidden"],
    ],
    [
      deployments,
      { strategy: rolling({ maxSurge: 0, maxUnavailable: "0%" }) },
      ["spec.strategy.rollingUpdate.maxUnavailable Invalid"],
    ],
    [
      deployments,
      { strategy: rolling({ maxSurge: "many", maxUnavailable: -1 }) },
      ["spec.strategy.rollingUpdate.maxUnavailable Invalid", "spec.strategy.rollingUpdate.maxSurge Invalid"],
    ],
    [
      deployments,
      { strategy: rolling({ maxUnavailable: "101%", maxSurge: "300%" }) },
      ["spec.strategy.rollingUpdate.maxUnavailable Invalid"],
    ],
    [deployments, { progressDeadlineSeconds: 10, minReadySeconds: 10 }, ["spec.progressDeadlineSeconds Invalid"]],
    [
      deployments,
      { minReadySeconds: -1, revisionHistoryLimit: -1 },
      ["spec.minReadySeconds Invalid", "spec.revisionHistoryLimit Invalid"],
    ],
    [daemonSets, {}, []],
    [daemonSets, { updateStrategy: { type: "OnDelete", rollingUpdate: { maxUnavailable: 1 } } }, []],
    [daemonSets, { updateStrategy: { type: "X" } }, ["spec.updateStrategy NotSupported"]],
    [daemonSets, { updateStrategy: rolling({ maxSurge: 1 }) }, ["spec.updateStrategy.rollingUpdate.maxSurge Invalid"]],
    [
      daemonSets,
      { updateStrategy: rolling({ maxUnavailable: 0 }) },
      ["spec.updateStrategy.rollingUpdate.maxUnavailable Required"],
    ],
    [daemonSets, { updateStrategy: rolling({ maxUnavailable: 0, maxSurge: "10%" }) }, []],
    [
      daemonSets,
      { minReadySeconds: -1, revisionHistoryLimit: -1 },
      ["spec.minReadySeconds Invalid", "spec.revisionHistoryLimit Invalid"],
    ],
    [replicaSets, { minReadySeconds: -1 }, ["spec.minReadySeconds Invalid"]],
  ])("$kind with %j", (kind, spec, expected) => {
    expect(faults(kind, spec)).toEqual(expected);
  });
});

describe("ephemeral containers", () => {
  const ephemeralContainers = [{ name: "e", image: "i" }];
  const withThem = { ...template, spec: { ...template.spec, ephemeralContainers } };

  it.each([deployments, replicaSets, daemonSets])("are in no template of a $kind", (kind) => {
    expect(faults(kind, { template: withThem })).toEqual(["spec.template.spec.ephemeralContainers Forbidden"]);
  });

  it("are in no PodTemplate and no template of a ReplicationController", () => {
    expect(faultsOf(podTemplates, { template: withThem })).toEqual(["template.spec.ephemeralContainers Forbidden"]);
    expect(faultsOf(replicationControllers, { spec: { template: withThem } })).toEqual([
      "spec.template.spec.ephemeralContainers Forbidden",
    ]);
  });

  it("do not come with a StatefulSet either", () => {
    expect(faults(statefulSets, { template: withThem })).toEqual(["spec.template.spec.ephemeralContainers Forbidden"]);
  });

  it("do not come with a new pod, and do not hinder an update of one that has them", () => {
    const pod: any = pods.setDefaults?.({ metadata: {}, spec: withThem.spec } as any);
    expect(faultsOf(pods, pod)).toEqual(["spec.ephemeralContainers Forbidden"]);
    expect((pods.strategy as any).validateUpdate(pod, pod, { info: { subresource: "" } })).toEqual([]);
  });
});

it.each([
  [deployments, "ReplicaSet"],
  [replicaSets, "ReplicaSet"],
  [daemonSets, "DaemonSet"],
  [statefulSets, "StatefulSet"],
])("a deadline of pods of a $kind is refused in the words of upstream", (kind, name) => {
  const spec = { ...template.spec, activeDeadlineSeconds: 5 };
  const given: any = kind.setDefaults?.({ metadata: {}, spec: { ...base, template: { ...template, spec } } } as any);
  const [fault] = (kind.strategy as any).validate(given, {} as any);
  expect(fault.detail ?? fault.message).toContain(`activeDeadlineSeconds in ${name} is not Supported`);
});
