// The owners of the claims of a StatefulSet's pods, with which claims go: the set, a pod beyond its last number, or neither.
// Source: k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go (updateClaimOwnerRefForSetAndPod, isClaimOwnerUpToDate)

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { controllerReference } from "../workload-port.ts";
import type { StatefulSet } from "./stateful-set.ts";

type Claim = Pick<KubeObject, "metadata">;

/** A pod of the set, and whether the set has fewer pods now. */
export type ClaimingPod = { readonly name: string; readonly uid: string; readonly isCondemned: boolean };

/** The same object where its owners are as they should be. */
export function withWantedOwners<C extends Claim>(claim: C, set: StatefulSet, pod: ClaimingPod): C {
  const { ownerReferences = [], ...metadata } = claim.metadata;
  const owners = [controllerReference(set), controllerReference(podObject(pod))] as const;
  const known = ownerReferences.map((reference) => ({ reference, own: owners.find((own) => isAlike(reference, own)) }));
  // A set or pod of this name that is gone: the garbage collector deletes the claim.
  if (known.some(({ reference, own }) => own !== undefined && own.uid !== reference.uid)) return claim;
  const others = known.flatMap(({ reference, own }) => (own === undefined ? [reference] : []));
  const present = known.flatMap(({ reference, own }) => (own === undefined ? [] : [reference]));
  const wanted = others.some(({ controller }) => controller === true) ? [] : wantedOf(set, pod, owners);
  const isKept = (own: OwnerReference): boolean =>
    present.some(({ uid, controller }) => uid === own.uid && controller === true);
  if (present.length === wanted.length && wanted.every(isKept)) return claim;
  const left = [...others, ...wanted];
  return { ...claim, metadata: { ...metadata, ...(left.length === 0 ? {} : { ownerReferences: left }) } };
}

/** A claim of an earlier pod of this name, which goes with it: the next pod has to wait for that. */
export const isOfEarlierPod = ({ metadata }: Claim, set: StatefulSet, name: string): boolean =>
  policyOf(set).whenScaled === "Delete" &&
  (metadata.ownerReferences ?? []).some((reference) =>
    isAlike(reference, controllerReference(podObject({ name, uid: "" }))),
  );

const policyOf = ({ spec }: StatefulSet) => spec.persistentVolumeClaimRetentionPolicy ?? {};

function wantedOf(
  set: StatefulSet,
  { isCondemned }: ClaimingPod,
  [bySet, byPod]: readonly [OwnerReference, OwnerReference],
): readonly OwnerReference[] {
  const { whenDeleted, whenScaled } = policyOf(set);
  if (whenScaled === "Delete" && isCondemned) return [byPod];
  return whenDeleted === "Delete" ? [bySet] : [];
}

const podObject = ({ name, uid }: Pick<ClaimingPod, "name" | "uid">) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, uid },
});

/** By name: another uid is an earlier object. */
const isAlike = (a: OwnerReference, b: OwnerReference): boolean =>
  a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name;
