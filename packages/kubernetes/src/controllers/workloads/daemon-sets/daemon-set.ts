// DaemonSets: their pods, one for each Node, and how many of these may be replaced at a time.
// Source: k8s.io/kubernetes/pkg/controller/daemon/util/daemonset_util.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { Toleration } from "../../../builtin/workloads/admission/tolerations.ts";
import type { PodSpec, PodTemplate } from "../../../builtin/workloads/pods/pod-fields.ts";
import { podFromTemplate } from "../pod-control.ts";
import { availableIn, type PodState, podStateOf } from "../pod-state.ts";
import { parseRevision } from "../revision-number.ts";
import { scaledValue } from "../scaled-value.ts";
import { REVISION_LABEL } from "../stateful-sets/stateful-set.ts";

type Amount = number | string;

export type DaemonSet = KubeObject & {
  readonly spec: {
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: Amount; readonly maxSurge?: Amount };
    };
  };
  readonly status?: {
    readonly collisionCount?: number;
    readonly observedGeneration?: number;
    readonly conditions?: JsonValue;
  };
};

/** A pod of a DaemonSet, and the Node that it is for. */
export type DaemonPod = PodState & { readonly node: string };

const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";
const TEMPLATE_GENERATION_LABEL = "pod-template-generation";

const templateGeneration = ({ metadata }: DaemonSet): bigint | undefined =>
  parseRevision(metadata.annotations?.[TEMPLATE_GENERATION] ?? "");

const EXISTS = "Exists";
const KEPT_RUNNING = ["not-ready", "unreachable"];
const SCHEDULED_ON = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"];

const toleration = (name: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${name}`,
  operator: EXISTS,
  effect,
});

/** The tolerations of the template, and those that all pods of DaemonSets have. */
export function daemonTolerations({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  const added = [
    ...KEPT_RUNNING.map((name) => toleration(name, "NoExecute")),
    ...SCHEDULED_ON.map((name) => toleration(name, "NoSchedule")),
    ...(hostNetwork === true ? [toleration("network-unavailable", "NoSchedule")] : []),
  ];
  const isSame = (a: Toleration, b: Toleration): boolean =>
    a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
  const addedFor = (own: Toleration): Toleration | undefined => added.find((each) => isSame(own, each));
  const kept = tolerations.map((own) => addedFor(own) ?? own);
  return [...kept, ...added.filter((each) => !tolerations.some((own) => isSame(own, each)))];
}

/** The pod for this Node. A scheduler binds it there, for it fits no other. */
export function daemonPod(set: DaemonSet, hash: string, node: string): KubeObject {
  const pod = podFromTemplate(set, set.spec.template);
  const generation = templateGeneration(set);
  const spec = set.spec.template.spec ?? ({} as PodSpec);
  const affinity = (spec.affinity ?? {}) as { readonly nodeAffinity?: JsonObject };
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        ...(generation === undefined ? {} : { [TEMPLATE_GENERATION_LABEL]: String(generation) }),
        [REVISION_LABEL]: hash,
      },
    },
    spec: {
      ...spec,
      affinity: {
        ...affinity,
        nodeAffinity: {
          ...affinity.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
        },
      },
      tolerations: daemonTolerations(spec),
    },
  };
}

const readTarget = createMemberReader({
  spec: { nodeName: true, affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: true } } },
});

type Target = {
  readonly spec?: {
    readonly nodeName?: string;
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms?: readonly {
            readonly matchFields?: readonly {
              readonly key?: string;
              readonly operator?: string;
              readonly values?: readonly string[];
            }[];
          }[];
        };
      };
    };
  };
};

const known = new WeakMap<CachedObject, DaemonPod | null>();

/** Undefined for a pod that is for no certain Node. */
export function daemonPodOf(object: CachedObject): DaemonPod | undefined {
  let pod = known.get(object);
  if (pod === undefined) {
    const node = targetOf(object);
    pod = node === undefined ? null : { ...podStateOf(object), node };
    known.set(object, pod);
  }
  return pod ?? undefined;
}

function targetOf(object: CachedObject): string | undefined {
  // Stored objects have passed the schema of their kind.
  const { nodeName = "", affinity } = (object.read(readTarget) as Target).spec ?? {};
  if (nodeName !== "") return nodeName;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields = [] } of terms)
    for (const { key, operator, values = [] } of matchFields)
      if (key === "metadata.name" && operator === "In") return values.length === 1 ? values[0] : undefined;
  return undefined;
}

/** Returns whether a pod is of the present template. */
export function updatedTest(set: DaemonSet, hash: string): (pod: PodState) => boolean {
  const generation = templateGeneration(set);
  const label = generation === undefined ? undefined : String(generation);
  return ({ object: { labels } }) =>
    labels[REVISION_LABEL] === hash || (label !== undefined && labels[TEMPLATE_GENERATION_LABEL] === label);
}

export const isAvailable = (pod: PodState, { spec }: DaemonSet, now: number): boolean =>
  availableIn(pod, spec.minReadySeconds ?? 0, now) === 0;

export const isRolling = ({ spec }: DaemonSet): boolean => spec.updateStrategy?.type !== "OnDelete";

/** How many pods may be unavailable, and how many may be created beside another, where so many should run. */
export function rolloutLimits(
  set: DaemonSet,
  desired: number,
): { readonly unavailable: number; readonly surge: number } {
  const { maxUnavailable, maxSurge } = (isRolling(set) ? set.spec.updateStrategy?.rollingUpdate : undefined) ?? {};
  const surge = scaledValue(maxSurge ?? 0, desired);
  const unavailable = scaledValue(maxUnavailable ?? 0, desired);
  return { surge, unavailable: surge === 0 && unavailable === 0 && desired > 0 ? 1 : unavailable };
}

export const allowsSurge = (set: DaemonSet): boolean => rolloutLimits(set, 1).surge > 0;
