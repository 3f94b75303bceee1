// The ResourceClaim that a pod gets from a template.
// Source: k8s.io/kubernetes/pkg/controller/resourceclaim/controller.go (handleClaim)

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceClaimSpec, ResourceClaimTemplate } from "../../../builtin/devices/device-objects.ts";
import { derivedSuffix, MAX_BASE_LENGTH } from "../pod-control.ts";
import type { ClaimingPod } from "./claiming-pods.ts";

/** Names the claim of the pod that the object was made for. */
export const POD_CLAIM = "resource.kubernetes.io/pod-claim-name";

/** Upstream cuts both names where they are longer together. */
const MAX_NAMES = 57;

function generatedBase(pod: string, claim: string): string {
  const base = `${pod}-${claim}-`;
  if (base.length <= MAX_NAMES) return base;
  const cut = (name: string, whole: number): string => name.slice(0, Math.floor((name.length * MAX_NAMES) / whole));
  // As upstream, the second name is cut after the first one.
  return `${cut(pod, base.length)}-${cut(claim, base.length)}`;
}

/** Servers that work on the same pod choose the same name; another one with each attempt. */
export function generatedClaim(
  { name: podName, namespace, uid }: Pick<ClaimingPod, "name" | "namespace" | "uid">,
  claim: string,
  { spec: { metadata: { labels, annotations } = {}, spec = {} } = {} }: ResourceClaimTemplate,
  attempt: number,
): KubeObject & { readonly spec: ResourceClaimSpec } {
  const generateName = generatedBase(podName, claim);
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      generateName,
      name: generateName.slice(0, MAX_BASE_LENGTH) + derivedSuffix(`${uid} ${claim} ${attempt}`, 5),
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [POD_CLAIM]: claim },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid, controller: true }],
    },
    spec,
  };
}

/** Compiling so many bytes of an expression takes as long as creating an object that is small. */
const BYTES_OF_WRITE = 256;

/** The cost of a creation grows by this for its expressions. */
export const costOfExpressions = ({ devices }: ResourceClaimSpec): number =>
  Math.floor(
    (devices?.requests ?? [])
      .flatMap(({ exactly, firstAvailable = [] }) => [...(exactly === undefined ? [] : [exactly]), ...firstAvailable])
      .flatMap(({ selectors = [] }) => selectors)
      .reduce((sum, { cel }) => sum + (cel?.expression?.length ?? 0), 0) / BYTES_OF_WRITE,
  );
