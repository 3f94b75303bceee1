// Clusters: where virtual clusters and spaces run.

import { type Cluster, clusterFields, isLocalCluster } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, forbiddenError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import type { ObjectLookup } from "../../../../foundation/lookup/object-lookup.ts";
import { callerAsOwner } from "../../../access-keys/caller-as-owner.ts";
import type { Directory } from "../../../directory/directory.ts";
import { networkPeerWarnings } from "../../../proxy/network-peer.ts";
import { recordedSecret } from "../../kubernetes-backend/recorded-secret.ts";
import type { PlatformEndpoint } from "../../platform-endpoint.ts";
import { type ClusterAccessKeyDeps, clusterAccessKey } from "./subresources/access-key.ts";

export type ClustersDeps = ClusterStrategyDeps &
  ClusterAccessKeyDeps &
  AuthorityDeps & {
    readonly visibility: ObjectVisibility;
  };

export const clusters = (deps: ClustersDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "Cluster",
    plural: "clusters",
    singular: "cluster",
    namespaced: false,
    schema: kindSchema(clusterFields.schema),
    hasStatus: true,
    subresources: [clusterAccessKey(deps)],
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      { name: "Phase", type: "string", description: "Phase of the cluster.", value: ".status.phase" },
      { name: "Version", type: "string", description: "Kubernetes version.", value: ".status.version" },
      ...stateColumns,
      ageColumn,
    ],
    strategy: clusterStrategy(deps),
    visibility: deps.visibility,
    present: presentAuthority(deps),
  });

// Shows every cluster with the authority that verifies the platform, in the annotation from which clients fill the kubeconfigs that
// they write: the platform's proxy is how a cluster is reached.

export type AuthorityDeps = {
  readonly names: Pick<PlatformNames, "key">;
  readonly endpoint: Pick<PlatformEndpoint, "certificateAuthorityPem">;
};

/** For the `present` of the resource. */
const presentAuthority =
  (deps: AuthorityDeps) =>
  (object: CachedObject): CachedObject => {
    const cluster = object.decode();
    const shown = withAuthority(cluster, deps);
    return shown === cluster ? object : CachedObject.fromObject(object.key, shown);
  };

/** A cluster with an endpoint of its own has an authority of its own. */
export function withAuthority<T extends KubeObject>(cluster: T, { names, endpoint }: AuthorityDeps): T {
  const { certificateAuthorityPem } = endpoint;
  const { annotations = {} } = cluster.metadata;
  if (certificateAuthorityPem === undefined || Object.hasOwn(annotations, names.key("direct-cluster-endpoint"))) {
    return cluster;
  }
  const authority = Buffer.from(certificateAuthorityPem).toString("base64");
  const shown = { ...annotations, [names.key("direct-cluster-endpoint-ca-data")]: authority };
  return { ...cluster, metadata: { ...cluster.metadata, annotations: shown } };
}

// Checks and changes of a cluster on its way into the store.

type ClusterStrategyDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly lookup: Pick<ObjectLookup, "secret">;
};

const clusterStrategy = (deps: ClusterStrategyDeps): Strategy<Cluster> => ({
  allowUnconditionalUpdate: true,
  async prepareForCreate(created, context) {
    const cluster = await withRecordedSecret(created, undefined, context, deps);
    const { user } = context;
    const owner = cluster.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...cluster.spec, ...(owner === undefined ? {} : { owner }) };
    return { ...cluster, spec, status: firstStatus(cluster) };
  },
  prepareForUpdate: (cluster, old, context) => withRecordedSecret(cluster, old, context, deps),
  validate: validateCluster,
  warningsOnCreate: ({ spec }) => networkPeerWarnings(spec?.networkPeer),
  warningsOnUpdate: ({ spec }) => networkPeerWarnings(spec?.networkPeer),
  validateUpdate: (cluster, old) => [
    ...validateCluster(cluster),
    ...(isLocalCluster(cluster) === isLocalCluster(old)
      ? []
      : [forbiddenError("spec.local", "cannot be changed: the objects in the cluster would be lost")]),
  ],
});

type SecretPlace = { readonly namespace: string; readonly name: string; readonly entry: string };

/** The Secret whose kubeconfig the platform connects with, and shares its power with the writers of the cluster. */
export function secretOf(cluster: Cluster | undefined): SecretPlace | undefined {
  const { kubeConfigRef, managementNamespace = "" } = cluster?.spec ?? {};
  if (kubeConfigRef === undefined) return undefined;
  const { secretNamespace = "", secretName, key = "" } = kubeConfigRef;
  return { namespace: secretNamespace === "" ? managementNamespace : secretNamespace, name: secretName, entry: key };
}

const isSamePlace = (a: SecretPlace, b: SecretPlace | undefined): boolean =>
  b !== undefined && a.namespace === b.namespace && a.name === b.name && a.entry === b.entry;

/**
 * The cluster with the uid of the Secret that it names, for a new reference and for one that is written again: with another value of the annotation,
 * or without it. Other writes keep what is recorded, so that they do not accept a Secret that took its place. Throws ApiError 403.
 */
async function withRecordedSecret(
  cluster: Cluster,
  old: Cluster | undefined,
  context: RequestContext,
  deps: ClusterStrategyDeps,
): Promise<Cluster> {
  const key = recordedSecret(deps.names);
  const place = secretOf(cluster);
  if (place === undefined) return withAnnotation(cluster, key, undefined);
  const [given, before] = [cluster.metadata.annotations?.[key], old?.metadata.annotations?.[key]];
  const isMoved = !isSamePlace(place, secretOf(old));
  if (!isMoved && given === before) return cluster;
  const missing = await missingVerb(place, context, deps);
  if (missing === undefined) {
    return withAnnotation(cluster, key, deps.lookup.secret(place.namespace, place.name)?.metadata.uid);
  }
  // A PUT of a manifest leaves the annotation out without meaning it.
  if (!isMoved && given === undefined) return withAnnotation(cluster, key, before);
  const why = `spec.kubeConfigRef: you may not ${missing} the Secret ${JSON.stringify(`${place.namespace}/${place.name}`)}`;
  throw forbiddenRequestError(
    { group: deps.names.managementGroup, resource: "clusters" },
    cluster.metadata.name ?? "",
    why,
  );
}

/**
 * The permission that the writer of a reference lacks. Members of a project write the Secrets of its namespace, and so would choose where the platform connects
 * to, past the rules for their addresses: only who may write the Secret as well names one there.
 */
async function missingVerb(
  { namespace, name }: SecretPlace,
  { user, credential }: RequestContext,
  { names, authorizer }: ClusterStrategyDeps,
): Promise<string | undefined> {
  for (const verb of names.projectOf(namespace) === undefined ? ["get"] : ["get", "update"]) {
    const { verdict } = await authorizer.authorize({
      ...{ user, credential, verb, apiGroup: "", apiVersion: "v1", resource: "secrets", subresource: "", path: "" },
      ...{ isResourceRequest: true, namespace, name },
    });
    if (verdict !== "allow") return verb;
  }
  return undefined;
}

function withAnnotation(cluster: Cluster, key: string, value: string | undefined): Cluster {
  const { annotations = {} } = cluster.metadata;
  if (annotations[key] === value) return cluster;
  const { [key]: _, ...others } = annotations;
  const kept = value === undefined ? others : { ...others, [key]: value };
  return { ...cluster, metadata: { ...cluster.metadata, annotations: kept } };
}

const firstStatus = (cluster: Cluster): NonNullable<Cluster["status"]> => ({
  phase: isLocalCluster(cluster) ? "Initialized" : "Pending",
});

function validateCluster({ spec }: Cluster): readonly FieldError[] {
  if (spec?.local === true && spec.kubeConfigRef !== undefined) {
    return [forbiddenError("spec.kubeConfigRef", "a local cluster has no kubeconfig")];
  }
  const { secretNamespace = "", secretName = "" } = spec?.kubeConfigRef ?? {};
  if (secretName === "" || secretNamespace !== "" || (spec?.managementNamespace ?? "") !== "") return [];
  return [requiredError("spec.kubeConfigRef.secretNamespace", "if spec.managementNamespace is not set")];
}
