// The strategy of clusters: checks and changes before a cluster is stored.

import { type Cluster, isLocalCluster } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import { warningsOfRecording } from "@postern/api/session-recording";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { type FieldError, forbiddenError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { mayDo } from "../../../../foundation/kinds/may-do.ts";
import type { ObjectLookup } from "../../../../foundation/lookup/object-lookup.ts";
import { callerAsOwner } from "../../../access-keys/caller-as-owner.ts";
import type { Directory } from "../../../directory/directory.ts";
import { recordedSecret } from "../../kubernetes-backend/recorded-secret.ts";

export type ClusterStrategyDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly lookup: Pick<ObjectLookup, "secret">;
  /** Whether the server has a directory for recordings of sessions. */
  readonly hasRecordings: boolean;
};

export const clusterStrategy = (deps: ClusterStrategyDeps): Strategy<Cluster> => ({
  allowUnconditionalUpdate: true,
  async prepareForCreate(created, context) {
    const cluster = await withRecordedSecret(created, undefined, context, deps);
    await checkRecording(cluster, undefined, context, deps);
    const { user } = context;
    const owner = cluster.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...cluster.spec, ...(owner === undefined ? {} : { owner }) };
    return { ...cluster, spec, status: firstStatus(cluster) };
  },
  async prepareForUpdate(cluster, old, context) {
    await checkRecording(cluster, old, context, deps);
    return await withRecordedSecret(cluster, old, context, deps);
  },
  validate: validateCluster,
  warningsOnCreate: (cluster) => warningsOf(cluster, undefined, deps),
  warningsOnUpdate: (cluster, old) => warningsOf(cluster, old, deps),
  validateUpdate: (cluster, old) => [
    ...validateCluster(cluster),
    ...(isLocalCluster(cluster) === isLocalCluster(old)
      ? []
      : [forbiddenError("spec.local", "cannot be changed: the objects in the cluster would be lost")]),
  ],
});

/** The verb on a cluster that changes what limits its owner as well. */
const RESTRICT_VERB = "restrict";

/** Throws ApiError 403. */
async function checkRecording(
  { metadata: { name = "" }, spec }: Cluster,
  old: Cluster | undefined,
  context: RequestContext,
  { names, authorizer }: ClusterStrategyDeps,
): Promise<void> {
  if (equalJson(spec?.sessionRecording ?? {}, old?.spec?.sessionRecording ?? {})) return;
  const clusters = { group: names.managementGroup, resource: "clusters" };
  const action = { verb: RESTRICT_VERB, apiGroup: clusters.group, resource: clusters.resource, name };
  if (await mayDo(context, action, authorizer)) return;
  throw forbiddenRequestError(
    clusters,
    name,
    `spec.sessionRecording limits the cluster: changing it requires the verb ${RESTRICT_VERB} on clusters`,
  );
}

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
  context: RequestContext,
  { names, authorizer }: ClusterStrategyDeps,
): Promise<string | undefined> {
  for (const verb of names.projectOf(namespace) === undefined ? ["get"] : ["get", "update"]) {
    const action = { verb, apiGroup: "", resource: "secrets", namespace, name };
    if (!(await mayDo(context, action, authorizer))) return verb;
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

const warningsOf = (
  cluster: Cluster,
  old: Cluster | undefined,
  { hasRecordings }: ClusterStrategyDeps,
): readonly string[] => [
  ...unusedKubeconfig(cluster),
  ...warningsOfRecording(cluster.spec?.sessionRecording, old?.spec?.sessionRecording, hasRecordings),
];

const unusedKubeconfig = ({ spec }: Cluster): readonly string[] =>
  spec?.networkPeer === true && spec.kubeConfigRef !== undefined
    ? ["spec.kubeConfigRef: not used while spec.networkPeer is true: the agent of the cluster connects"]
    : [];

function validateCluster({ spec }: Cluster): readonly FieldError[] {
  if (spec?.local === true && spec.kubeConfigRef !== undefined) {
    return [forbiddenError("spec.kubeConfigRef", "a local cluster has no kubeconfig")];
  }
  if (spec?.local === true && spec.networkPeer === true) {
    return [forbiddenError("spec.networkPeer", "no agent connects to the local cluster")];
  }
  const { secretNamespace = "", secretName = "" } = spec?.kubeConfigRef ?? {};
  if (secretName === "" || secretNamespace !== "" || (spec?.managementNamespace ?? "") !== "") return [];
  return [requiredError("spec.kubeConfigRef.secretNamespace", "if spec.managementNamespace is not set")];
}
