// StatefulSets: their pods, which have numbers, and the claims of these.
// Source: k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PodTemplate } from "../../../builtin/workloads/pods/pod-fields.ts";
import type { Condition } from "../conditions.ts";
import { podFromTemplate } from "../pod-control.ts";
import { availableIn, type PodState } from "../pod-state.ts";
import { scaledValue } from "../scaled-value.ts";
import { controllerReference } from "../workload-port.ts";

export type StatefulSet = KubeObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: { readonly matchLabels?: { readonly [name: string]: string } };
    readonly template: PodTemplate;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly revisionHistoryLimit?: number;
    readonly ordinals?: { readonly start?: number };
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number; readonly maxUnavailable?: number | string };
    };
    readonly volumeClaimTemplates?: readonly KubeObject[];
    readonly persistentVolumeClaimRetentionPolicy?: { readonly whenDeleted?: string; readonly whenScaled?: string };
  };
  readonly status?: {
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly currentReplicas?: number;
    readonly collisionCount?: number;
    readonly conditions?: readonly Condition[];
  };
};

export const REVISION_LABEL = "controller-revision-hash";

export const firstOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;
export const isOrdered = ({ spec }: StatefulSet): boolean => spec.podManagementPolicy !== "Parallel";

/** The number of a pod of this set; undefined for a pod with another name. */
export function ordinalOf({ name }: PodState, set: StatefulSet): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const text = name.slice(prefix.length);
  return name.startsWith(prefix) && /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined;
}

export const revisionNameOf = ({ object }: PodState): string => object.labels[REVISION_LABEL] ?? "";

export const isAvailable = (pod: PodState, { spec }: StatefulSet, now: number): boolean =>
  pod.phase === "Running" && !pod.isDeleted && availableIn(pod, spec.minReadySeconds ?? 0, now) === 0;

/** How many pods may be unavailable while they are replaced. */
export function mostUnavailable({ spec }: StatefulSet): number {
  return Math.max(1, scaledValue(spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, spec.replicas ?? 1));
}

const claimName = (template: KubeObject, pod: string): string => `${template.metadata.name}-${pod}`;

export const claimNamesOf = ({ spec }: StatefulSet, pod: string): readonly string[] =>
  (spec.volumeClaimTemplates ?? []).map((template) => claimName(template, pod));

/** Pod number `ordinal` of this template. */
export function statefulPod(set: StatefulSet, template: PodTemplate, revision: string, ordinal: number): KubeObject {
  const name = `${set.metadata.name}-${ordinal}`;
  const pod = podFromTemplate(set, template);
  const claims = set.spec.volumeClaimTemplates ?? [];
  const names = new Set(claims.map(({ metadata }) => metadata.name));
  const volumes = [
    ...claims.map((claim) => ({
      name: claim.metadata.name ?? "",
      persistentVolumeClaim: { claimName: claimName(claim, name) },
    })),
    ...(template.spec?.volumes ?? []).filter((volume) => !names.has(volume.name)),
  ];
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      name,
      labels: {
        ...pod.metadata.labels,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
        [REVISION_LABEL]: revision,
      },
    },
    spec: {
      // A pod is JSON; only the named types of its template hide it.
      ...(pod["spec"] as JsonObject),
      hostname: name,
      ...((set.spec.serviceName ?? "") === "" ? {} : { subdomain: set.spec.serviceName }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

/** The claims of a pod. They outlive the set, unless it says otherwise. */
export function claimsOf(set: StatefulSet, pod: string): readonly KubeObject[] {
  const { spec, metadata } = set;
  const goesWithSet = spec.persistentVolumeClaimRetentionPolicy?.whenDeleted === "Delete";
  return (spec.volumeClaimTemplates ?? []).map((template) => {
    const { labels, annotations } = template.metadata;
    return {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: claimName(template, pod),
        namespace: metadata.namespace ?? "",
        labels: { ...labels, ...spec.selector?.matchLabels },
        ...(annotations === undefined ? {} : { annotations }),
        ...(goesWithSet ? { ownerReferences: [controllerReference(set)] } : {}),
      },
      spec: template["spec"],
    };
  });
}
