// Serves proxied requests after authorization: finds the backend of the target and forwards the request.

import { isLocalCluster } from "@postern/api/cluster";
import { allowsCluster } from "@postern/api/project";
import { badRequestError, forbiddenPathError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { isSystemName } from "../../../foundation/kinds/system-name.ts";
import type { HeldGrant } from "../../authorization/granted-access.ts";
import { type InstancePlace, instanceAt, isKeptInside } from "../../authorization/inside/inside-groups.ts";
import { InsideIdentities } from "../../authorization/inside/inside-identities.ts";
import { proxiedCallOf } from "../../authorization/request/proxied-call.ts";
import type { ProxyPath } from "../../authorization/request/proxy-path.ts";
import { withKeyLineage } from "../../certificates/key-lineage.ts";
import type { SpaceBackend } from "../../virtual-clusters/kubernetes-backend/space-backend.ts";
import type { VirtualClusterBackend } from "../../virtual-clusters/virtual-cluster-backend.ts";
import { boundRemoteRequest } from "./bound-remote-request.ts";
import { grantOfCaller } from "./caller-grants.ts";
import { creatorsOf, withCurrentGroups } from "./credential-creators.ts";
import { isInsideIdentity } from "./proxy-authenticators.ts";
import { createOuterAuthorizer, type ProxyDeps } from "./proxy-decision.ts";
import { below, type Destinations, type FoundInstance, findSpace, findVirtualCluster } from "./proxy-destination.ts";

export function createProxyRoute(deps: ProxyDeps, places: Destinations): Handler {
  const identities = new InsideIdentities(deps.sources, deps.authorizer.policyVersion);
  return (context) => {
    const { path, info } = proxiedCallOf(context);
    const outerAuthorizer = isInsideIdentity(context) ? undefined : createOuterAuthorizer(context, path, deps);
    const { destination } = path;
    // A project may have any number of users and ServiceAccounts inside, and clusters.
    context.work?.enter(
      destination.target === "Cluster" ? `cluster:${destination.cluster}` : `project:${destination.project}`,
    );
    /** In the terms of the management API: `info` is that of the request inside. */
    const grant = () => grantOfCaller(context.with({ info }), path, deps);
    const inner = context.with({
      request: below(context.request, path),
      info,
      outerAuthorizer,
      credential: isInsideIdentity(context) ? context.credential : keyInside(context, path, grant, deps),
    });
    const toAwake = (place: InstancePlace, find: Find): Awaitable<ApiResponse> =>
      whenDone(wake(find(), places), () => toInstance(inner, place, find, grant, identities, deps, places));
    switch (destination.target) {
      case "ProjectVirtualCluster":
        return toAwake(destination, () => findVirtualCluster(path, deps, places));
      case "ProjectSpace":
        return toAwake(destination, () => findSpace(path, deps, places));
      case "Cluster":
        return toCluster(inner, destination.cluster, grant, deps, places);
    }
  };
}

/** Gives undefined where there is no such virtual cluster or space. */
type Find = () => FoundInstance<VirtualClusterBackend | SpaceBackend> | undefined;

/** Looked up where a credential may be made. */
type CallerGrant = () => HeldGrant | undefined;

const keyOf = ({ credential }: Pick<RequestContext, "credential">, keys: ProxyDeps["keys"]) =>
  credential === undefined ? undefined : keys.byId(credential.id);

/** Credentials that are made with it inside go back to the key. */
function keyInside(
  { credential }: Pick<RequestContext, "credential">,
  { destination }: ProxyPath,
  grant: CallerGrant,
  { keys }: Pick<ProxyDeps, "keys">,
): RequestContext["credential"] {
  const accessRequest = () => grant()?.uid;
  if (destination.target !== "ProjectVirtualCluster") return withKeyLineage(credential, undefined, keys, accessRequest);
  const { project, virtualCluster } = destination;
  return withKeyLineage(credential, { project, virtualCluster }, keys, accessRequest);
}

function toInstance(
  context: RequestContext,
  place: InstancePlace,
  find: Find,
  grant: CallerGrant,
  identities: InsideIdentities,
  deps: ProxyDeps,
  { lookup, destinations, recordings }: Pick<Destinations, "lookup" | "destinations" | "recordings">,
): Awaitable<ApiResponse> {
  const { names, sources, authorizer, keys, authenticator } = deps;
  const found = find();
  if (found === undefined) {
    const { resource, name } = instanceAt(place);
    throw notFoundError({ group: names.managementGroup, resource }, name);
  }
  mayBePlaced(found, place, lookup);
  const identify = isInsideIdentity(context)
    ? () => withCurrentGroups(context.user, creatorsOf(context, keys, authenticator), place, sources)
    : () => identities.of(context.user, place);
  const user = identify();
  const backend = found.open();
  const { policyVersion } = authorizer;
  // The cluster got the identity once, at the beginning, and does not learn of its revocation.
  context.open?.keep({
    policyVersion,
    decidedAt: policyVersion.version,
    holds: () => isKeptInside(user, identify(), sources),
  });
  context.open?.keep({
    policyVersion: destinations,
    decidedAt: destinations.version,
    holds() {
      const now = find();
      if (now === undefined || now.uid !== found.uid) return false;
      mayBePlaced(now, place, lookup);
      return isReached(now.open());
    },
  });
  if (!backend.isRemote) return backend.proxy(context, user);
  const ends = { key: keyOf(context, keys), grant };
  const session = { project: place.project, instance: instanceAt(place).name, cluster: found.cluster };
  return whenDone(boundRemoteRequest(context, ends), (bounded) =>
    recordings.record(bounded, session, (tap) => backend.proxy(bounded, user, tap)),
  );
}

/** Throws ApiError 403 where the project may not use the cluster any more in which the instance was placed. */
function mayBePlaced(
  { cluster }: FoundInstance<unknown>,
  { project: name }: InstancePlace,
  { project }: Destinations["lookup"],
): void {
  const known = project(name);
  if (cluster === "" || known === undefined || allowsCluster(known, cluster)) return;
  throw forbiddenPathError(`project ${JSON.stringify(name)} may not use cluster ${JSON.stringify(cluster)}`);
}

/** Throws ApiErrors where what leads there is gone. Under another credential, what the old one opened ends by itself. */
function isReached(backend: Pick<VirtualClusterBackend, "assertReached">): true {
  backend.assertReached?.();
  return true;
}

/** An embedded one may sleep; the others run elsewhere. Throws ApiError 503 for one that no request wakes. */
const wake = (found: ReturnType<Find>, { wakeUp }: Pick<Destinations, "wakeUp">): Awaitable<void> =>
  found === undefined || found.open().isRemote ? undefined : wakeUp(found.kind, found.instance);

/** Callers keep their own name and groups there: what they may do is for the cluster's own RBAC to say. */
function toCluster(
  context: RequestContext,
  name: string,
  grant: CallerGrant,
  { names, keys }: ProxyDeps,
  {
    lookup,
    reached,
    destinations,
    recordings,
  }: Pick<Destinations, "lookup" | "reached" | "destinations" | "recordings">,
): Awaitable<ApiResponse> {
  const cluster = lookup.cluster(name);
  if (cluster === undefined) throw notFoundError({ group: names.managementGroup, resource: "clusters" }, name);
  if (isLocalCluster(cluster)) {
    throw badRequestError("the built-in cluster has no API: use those of its virtual clusters and spaces");
  }
  context.open?.keep({
    policyVersion: destinations,
    decidedAt: destinations.version,
    holds() {
      const now = lookup.cluster(name);
      return now !== undefined && now.metadata.uid === cluster.metadata.uid && isReached(reached.ofCluster(now));
    },
  });
  const user = outsideIdentity(context.user);
  return whenDone(boundRemoteRequest(context, { key: keyOf(context, keys), grant }), (bounded) =>
    recordings.record(bounded, { cluster: name }, (tap) => reached.ofCluster(cluster).proxy(bounded, user, tap)),
  );
}

/** Authenticators give the same user for all requests with a key, so that what is made of the identity can be remembered by it as well. */
const outsideIdentities = new WeakMap<UserInfo, UserInfo>();

/** Requests from outside never have system identities. */
function outsideIdentity(user: UserInfo): UserInfo {
  const known = outsideIdentities.get(user);
  if (known !== undefined) return known;
  const { name, groups } = user;
  if (isSystemName(name))
    throw forbiddenPathError(`user ${JSON.stringify(name)} cannot be used in a connected cluster`);
  const identity = { name, groups: groups.filter((group) => !isSystemName(group)) };
  outsideIdentities.set(user, identity);
  return identity;
}
