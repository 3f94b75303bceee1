// PersistentVolumes and claims as their controller sees them, and which of them fit.
// Source: k8s.io/component-helpers/storage/volume/pv_helpers.go, k8s.io/kubernetes/pkg/controller/volume/persistentvolume/index.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { quantityText } from "../../../builtin/quotas/quantities.ts";
import type { LabelSelector } from "../../../builtin/workloads/selector-text.ts";

export const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
export const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const OLD_CLASS = "volume.beta.kubernetes.io/storage-class";

type Capacity = { readonly storage?: JsonValue };

/** Members that both have. */
type CommonSpec = {
  readonly accessModes?: readonly string[];
  readonly storageClassName?: string;
  readonly volumeMode?: string;
  readonly volumeAttributesClassName?: string;
};

type ClaimReference = {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
};

export type Volume = KubeObject & {
  readonly spec: CommonSpec & {
    readonly capacity?: Capacity;
    readonly claimRef?: ClaimReference;
  };
  readonly status?: { readonly phase?: string };
};

export type Claim = KubeObject & {
  readonly spec: CommonSpec & {
    readonly volumeName?: string;
    readonly selector?: LabelSelector;
    readonly resources?: { readonly requests?: Capacity };
  };
  readonly status?: { readonly phase?: string; readonly capacity?: Capacity };
};

export const hasAnnotation = ({ metadata }: KubeObject, name: string): boolean =>
  Object.hasOwn(metadata.annotations ?? {}, name);

const amountOf = (capacity: Capacity | undefined): bigint => parseAmount(quantityText(capacity?.storage)) ?? 0n;
export const classOf = ({ metadata, spec }: Claim | Volume): string =>
  metadata.annotations?.[OLD_CLASS] ?? spec.storageClassName ?? "";
const modeOf = ({ volumeMode = "Filesystem" }: CommonSpec): string => volumeMode;
export const isSameMode = (claim: Claim, volume: Volume): boolean => modeOf(claim.spec) === modeOf(volume.spec);

/** It names the claim; also before it has been bound, when it has no uid. */
export function isBoundTo({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean {
  if (claimRef === undefined || claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace)
    return false;
  return (claimRef.uid ?? "") === "" || claimRef.uid === metadata.uid;
}

/** The reason for which a volume that a claim names is not for it. */
export function mismatchOf(volume: Volume, claim: Claim): string | undefined {
  const modes = new Set(volume.spec.accessModes);
  if (isBeingDeleted(volume)) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (amountOf(volume.spec.capacity) < amountOf(claim.spec.resources?.requests)) return "requested PV is too small";
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  if ((volume.spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? ""))
    return "volumeAttributesClassName does not match";
  if (!isSameMode(claim, volume)) return "incompatible volumeMode";
  return (claim.spec.accessModes ?? []).every((mode) => modes.has(mode)) ? undefined : "incompatible accessMode";
}

const MOST_TEXT = 512;
/** Names that are longer are none. */
const short = (text = ""): string => (text.length > MOST_TEXT ? "" : text);

/** Kept of each volume, to look through all of them for each claim. */
export type VolumeSummary = {
  readonly name: string;
  readonly amount: bigint;
  readonly modes: string;
  readonly class: string;
  readonly attributesClass: string;
  readonly mode: string;
  readonly isAvailable: boolean;
  readonly isBeingRemoved: boolean;
  /** `namespace/name`, and the uid, which may be empty. */
  readonly claim: string | undefined;
  readonly claimUid: string;
};

export const summaryOf = (volume: Volume): VolumeSummary => {
  const { spec, status, metadata } = volume;
  const { claimRef } = spec;
  return {
    name: metadata.name ?? "",
    amount: amountOf(spec.capacity),
    modes: (spec.accessModes ?? []).toSorted().join(),
    class: short(classOf(volume)),
    attributesClass: short(spec.volumeAttributesClassName),
    mode: short(modeOf(spec)),
    isAvailable: status?.phase === "Available",
    isBeingRemoved: isBeingDeleted(volume),
    claim: claimRef === undefined ? undefined : short(`${claimRef.namespace}/${claimRef.name}`),
    claimUid: short(claimRef?.uid),
  };
};

type Choice = {
  readonly waits: boolean;
  readonly isSelected: (index: number) => boolean;
  readonly pause: () => Promise<void> | undefined;
};

/**
 * The volume for a claim: one that names it, or else the smallest of those with the fewest access modes. `waits`: only one that names it. `isSelected` is
 * asked about the labels of a volume by its place in the list. In turns: a selector may be large.
 */
export async function bestVolume(
  claim: Claim,
  volumes: readonly VolumeSummary[],
  { waits, isSelected, pause }: Choice,
): Promise<VolumeSummary | undefined> {
  const { namespace, name, uid = "" } = claim.metadata;
  const amount = amountOf(claim.spec.resources?.requests);
  const attributesClass = claim.spec.volumeAttributesClassName ?? "";
  const wanted = claim.spec.accessModes ?? [];
  let best: VolumeSummary | undefined;
  const countOf = ({ modes }: VolumeSummary): number => modes.split(",").length;
  for (const [index, volume] of volumes.entries()) {
    await pause();
    const isOwn = volume.claim === `${namespace}/${name}` && (volume.claimUid === "" || volume.claimUid === uid);
    if (volume.isBeingRemoved || (volume.claim !== undefined && !isOwn) || volume.amount < amount) continue;
    if (volume.mode !== modeOf(claim.spec) || volume.attributesClass !== attributesClass) continue;
    const modes = volume.modes.split(",");
    if (!wanted.every((mode) => modes.includes(mode))) continue;
    if (isOwn) return volume;
    if (waits || !volume.isAvailable || volume.class !== classOf(claim) || !isSelected(index)) continue;
    const isBetter =
      best === undefined ||
      countOf(volume) < countOf(best) ||
      (countOf(volume) === countOf(best) && volume.amount < best.amount);
    if (isBetter) best = volume;
  }
  return best;
}
