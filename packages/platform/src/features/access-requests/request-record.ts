// An access request as the server keeps it in memory.

import type { AccessPolicyKind, AccessRequest, AccessRequestPhase } from "@postern/api/access-request";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";

export const ACCESS_REQUESTS = "accessrequests";

/** Where access is asked for: a project, a virtual cluster of it, or a connected cluster. */
export type AccessPlace = { readonly project: string; readonly virtualCluster?: string } | { readonly cluster: string };

export type RequestRecord = {
  readonly name: string;
  readonly uid: string;
  readonly phase: AccessRequestPhase;
  readonly user: string;
  readonly userUid: string;
  readonly place: AccessPlace | undefined;
  readonly targetUid: string;
  readonly role: string;
  /** Milliseconds since the epoch: the access lasts from `from` to `until`. */
  readonly from: number;
  readonly until: number;
  readonly createdAt: number;
};

/** `namespace` is "" for a policy of the whole platform. */
export type PolicyName = { readonly kind: AccessPolicyKind; readonly namespace: string; readonly name: string };

export const policyId = ({ kind, namespace, name }: PolicyName): string => `${kind}/${namespace}/${name}`;

/** The project of a virtual cluster is checked by validation. */
export function placeOf({
  project,
  virtualCluster,
  cluster,
}: AccessRequest["spec"]["target"]): AccessPlace | undefined {
  if (cluster !== undefined) return project === undefined && virtualCluster === undefined ? { cluster } : undefined;
  if (project === undefined) return undefined;
  return virtualCluster === undefined ? { project } : { project, virtualCluster };
}

/** Requests of one place count together; see `MAX_OPEN_PER_PLACE`. */
export const accountOfPlace = (place: AccessPlace | undefined): string =>
  place !== undefined && "project" in place ? `project/${place.project}` : "clusters";

/** For people, such as `virtual cluster shop/prod`. */
export function describePlace(place: AccessPlace | undefined): string {
  if (place === undefined) return "nothing";
  if ("cluster" in place) return `cluster ${place.cluster}`;
  const { project, virtualCluster } = place;
  return virtualCluster === undefined ? `project ${project}` : `virtual cluster ${project}/${virtualCluster}`;
}

export function policyOf(
  { policy, target }: AccessRequest["spec"],
  projectNamespace: (project: string) => string,
): PolicyName {
  const { kind = "ClusterAccessPolicy", name } = policy;
  const namespace = kind === "AccessPolicy" ? projectNamespace(target.project ?? "") : "";
  return { kind, namespace, name };
}

export function readRequest(object: CachedObject): RequestRecord {
  // The store holds no other kind under this resource.
  const { metadata, spec, status = {} } = object.decode() as AccessRequest;
  const phase = isBeingDeleted({ metadata }) ? "Revoked" : (status.phase ?? "Pending");
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    phase,
    user: status.requester?.user ?? "",
    userUid: status.requester?.userUID ?? "",
    place: placeOf(spec.target),
    targetUid: status.targetUID ?? "",
    role: spec.role ?? "",
    from: parseTimestamp(status.approvedTimestamp ?? "") ?? Number.POSITIVE_INFINITY,
    until: parseTimestamp(status.expirationTimestamp ?? "") ?? 0,
    createdAt: parseTimestamp(metadata.creationTimestamp ?? "") ?? 0,
  };
}
