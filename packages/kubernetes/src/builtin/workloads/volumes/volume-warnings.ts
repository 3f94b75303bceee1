// Warnings about PersistentVolumes and claims that are valid, and yet not what their author means.
// Source: k8s.io/kubernetes/pkg/api/{persistentvolume,persistentvolumeclaim}/util.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { keyPath } from "@postern/apimachinery/validation/field-error";
import { STORAGE_CLASS } from "../../default-classes.ts";
import { objectAt, optionalObjectAt, textAt } from "../json-members.ts";
import { fractionWarning, nodeTermWarnings } from "../pods/pod-warnings.ts";

type Warnings = readonly string[];

const OLD_CLASS: readonly [string, string] = [
  STORAGE_CLASS.annotation,
  'deprecated since v1.8; use "storageClassName" attribute instead',
];
const OLD_OPTIONS: readonly [string, string] = [
  "volume.beta.kubernetes.io/mount-options",
  'deprecated since v1.31; use "mountOptions" attribute instead',
];

/** By the name of the source in JSON: what is deprecated. The name in the text is the one of Go. */
const SOURCES: readonly (readonly [string, string])[] = [
  ["cephfs", "cephfs: deprecated in v1.28, non-functional in v1.31+"],
  ["photonPersistentDisk", "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"],
  ["scaleIO", "scaleIO: deprecated in v1.16, non-functional in v1.22+"],
  ["storageos", "storageOS: deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "glusterfs: deprecated in v1.25, non-functional in v1.26+"],
  ["rbd", "rbd: deprecated in v1.28, non-functional in v1.31+"],
];

const annotationWarnings = (
  { metadata: { annotations = {} } }: KubeObject,
  known: readonly (readonly [string, string])[],
): Warnings =>
  known
    .filter(([name]) => annotations[name] !== undefined)
    .map(([name, why]) => `${keyPath("metadata.annotations", name)}: ${why}`);

export function volumeWarnings(volume: KubeObject): Warnings {
  // Objects are JSON; only their named types hide it.
  const spec = (volume["spec"] ?? {}) as JsonObject;
  return [
    ...annotationWarnings(volume, [OLD_CLASS, OLD_OPTIONS]),
    ...(textAt(spec, "persistentVolumeReclaimPolicy") === "Recycle"
      ? [
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ]
      : []),
    ...nodeTermWarnings(objectAt(objectAt(spec, "nodeAffinity"), "required"), "spec.nodeAffinity.required"),
    ...SOURCES.filter(([name]) => optionalObjectAt(spec, name) !== undefined).map(([, why]) => `spec.${why}`),
  ];
}

export function claimWarnings(claim: KubeObject): Warnings {
  const resources = objectAt(claim["spec"] as JsonObject | undefined, "resources");
  return [
    ...annotationWarnings(claim, [OLD_CLASS]),
    ...(["requests", "limits"] as const).flatMap((kind) =>
      fractionWarning(keyPath(`spec.resources.${kind}`, "storage"), objectAt(resources, kind)["storage"]),
    ),
  ];
}
