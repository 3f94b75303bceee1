// Pods that ask for ResourceClaims, by the claims and the templates that they name.
// Source: k8s.io/dynamic-resource-allocation/resourceclaim/claim.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { createScans } from "@postern/apiserver/controllers/scans";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import { hasEnded } from "../../../builtin/workloads/pods/pods.ts";

/** A claim that a pod asks for. */
export type PodClaim = {
  readonly name: string;
  /** Absent: the claim is that of a user. */
  readonly templateName: string | undefined;
  /** Undefined: not known yet. Null: the pod needs none. */
  readonly claimName: string | null | undefined;
};

export type ClaimingPod = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly isDeleted: boolean;
  /** It runs no more, or never will. */
  readonly isDone: boolean;
  readonly claims: readonly PodClaim[];
  /** The name of the claim that the scheduler has made for extended resources. */
  readonly extendedClaim: string | undefined;
};

export type ClaimingPods = Disposable & {
  /** Keys of pods. They may come and go during the iteration. */
  namingClaim(namespace: string, name: string): Iterable<string>;
  namingTemplate(namespace: string, name: string): Iterable<string>;
  /** Resolves when everything that was there has been seen. */
  scanned(): Promise<void>;
};

const MEMBERS = ['"resourceClaims"', '"extendedResourceClaimStatus"'].map((name) => Buffer.from(name));

const readPod = createMemberReader({
  metadata: { name: true, namespace: true, uid: true, deletionTimestamp: true },
  spec: { nodeName: true, resourceClaims: true },
  status: { phase: true, resourceClaimStatuses: true, extendedResourceClaimStatus: true },
});

type PodMembers = {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly deletionTimestamp?: string | null;
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly resourceClaims?: readonly {
      readonly name?: string;
      readonly resourceClaimName?: string;
      readonly resourceClaimTemplateName?: string;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly resourceClaimStatuses?: readonly { readonly name?: string; readonly resourceClaimName?: string }[];
    readonly extendedResourceClaimStatus?: { readonly resourceClaimName?: string };
  };
};

/** Undefined if the pod asks for no claims. */
export function claimingPodOf(object: CachedObject): ClaimingPod | undefined {
  if (!MEMBERS.some((member) => object.has(member))) return undefined;
  const pod = podOf(object);
  return pod.claims.length === 0 && pod.extendedClaim === undefined ? undefined : pod;
}

/** The same of any pod. */
export function podOf(object: CachedObject): ClaimingPod {
  // Stored objects have passed the schema of their kind.
  const { metadata = {}, spec = {}, status = {} } = object.read(readPod) as JsonObject & PodMembers;
  const extendedClaim = status.extendedResourceClaimStatus?.resourceClaimName;
  const made = new Map(
    (status.resourceClaimStatuses ?? []).map(({ name = "", resourceClaimName = null }) => [name, resourceClaimName]),
  );
  const claims = (spec.resourceClaims ?? []).map(
    ({ name = "", resourceClaimName, resourceClaimTemplateName: templateName }): PodClaim =>
      resourceClaimName === undefined
        ? { name, templateName, claimName: made.get(name) }
        : { name, templateName: undefined, claimName: resourceClaimName },
  );
  const { nodeName = "" } = spec;
  const isDeleted = (metadata.deletionTimestamp ?? null) !== null;
  const isFinished = hasEnded({ status });
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    nodeName,
    isDeleted,
    isDone: isFinished || (isDeleted && nodeName === ""),
    claims,
    extendedClaim,
  };
}

/** Calls back with each of these pods that is there, comes, changes or goes. */
export function followClaimingPods(
  { view, keys }: ControlledResource,
  scheduler: Scheduler,
  onPod: (key: string, pod: ClaimingPod, isGone: boolean) => void,
): ClaimingPods {
  /** The names by which a pod is found, and the pods by name. */
  const namesOf = new Map<string, readonly string[]>();
  const byName = new Map<string, Set<string>>();
  const scans = createScans();

  function index(key: string, names: readonly string[]): void {
    for (const name of namesOf.get(key) ?? []) {
      const pods = byName.get(name);
      pods?.delete(key);
      if (pods?.size === 0) byName.delete(name);
    }
    namesOf.delete(key);
    if (names.length > 0) namesOf.set(key, names);
    for (const name of names) byName.set(name, (byName.get(name) ?? new Set()).add(key));
  }
  function put(object: CachedObject): void {
    const pod = claimingPodOf(object);
    index(object.key, pod === undefined ? [] : indexedNames(pod));
    if (pod !== undefined) onPod(object.key, pod, false);
  }
  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      namesOf.clear();
      byName.clear();
      const look = (object: CachedObject): void => {
        // Later changes have arrived as changes.
        if (view.get(object.key) === object) put(object);
      };
      scans.add(inSlices(objects, look, scans.signal));
    },
    put,
    delete(object) {
      index(object.key, []);
      const pod = claimingPodOf(object);
      if (pod !== undefined) onPod(object.key, pod, true);
    },
  });
  return {
    namingClaim: (namespace, name) => byName.get(claimIndex(namespace, name)) ?? [],
    namingTemplate: (namespace, name) => byName.get(templateIndex(namespace, name)) ?? [],
    scanned: () => scans.idle(),
    [Symbol.dispose]() {
      scans[Symbol.dispose]();
      following[Symbol.dispose]();
    },
  };
}

const claimIndex = (namespace: string, name: string): string => `claim/${namespace}/${name}`;
const templateIndex = (namespace: string, name: string): string => `template/${namespace}/${name}`;

const indexedNames = ({ namespace, claims }: ClaimingPod): readonly string[] =>
  claims.flatMap(({ claimName, templateName }) => [
    ...(typeof claimName === "string" ? [claimIndex(namespace, claimName)] : []),
    ...(templateName === undefined ? [] : [templateIndex(namespace, templateName)]),
  ]);
