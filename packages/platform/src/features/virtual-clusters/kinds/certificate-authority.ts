// GET and POST {virtualclusterinstances,spaceinstances}/{name}/certificateauthority: the CA of an embedded cluster, and the steps of its rotation.

import {
  type CertificateAuthorityView,
  certificateAuthoritySchema,
  type OutdatedItem,
  type RotationAction,
} from "@postern/api/certificate-authority";
import { isLocalCluster } from "@postern/api/cluster";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { conflictError, isApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import { keyIdOfToken } from "@postern/kubernetes/service-accounts/json-web-token";
import { SECRET_TOKEN_TYPE, tokenIn } from "@postern/kubernetes/service-accounts/secret-token";
import { serviceAccountKeyFromPem } from "@postern/kubernetes/service-accounts/service-account-key";
import { looksLikeServiceAccountToken } from "@postern/kubernetes/service-accounts/service-account-tokens";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { GatherUses } from "../../access-keys/last-use/periodic-writer.ts";
import type { AuthorityRecord } from "../../certificate-authorities/authority-record.ts";
import { authorityName, presentAuthority } from "../../certificate-authorities/present-authority.ts";
import type { RotationStates } from "../../certificate-authorities/rotation-states.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { IssuedCertificate } from "../../certificates/issued-certificate.ts";
import { outdatedCertificates, withLastUses } from "../../certificates/outdated-certificates.ts";
import type { BackendRegistry } from "../backend-registry.ts";
import { firstAuthorityName } from "../embedded/cluster-secrets.ts";
import type { EmbeddedClusters } from "../embedded/embedded-clusters.ts";

export type ClusterAuthorityDeps = Pick<Foundation, "names" | "lookup" | "recordEvent"> & {
  readonly runtime: Pick<Runtime, "clock">;
  readonly backends: Pick<BackendRegistry, "backendOf">;
  readonly embedded: Pick<EmbeddedClusters, "rotate" | "authorityOf" | "objectsOf">;
  readonly rotations: Pick<RotationStates, "of">;
  readonly certificates: Pick<CertificateLedger, "ofInstance" | "refusalOf" | "revoke" | "lastUseOf">;
  readonly gatherUses: GatherUses;
};

type Instance = VirtualClusterInstance | SpaceInstance;

/** A kind whose instances may have an embedded cluster. */
type Clustered = {
  readonly kind: "VirtualClusterInstance" | "SpaceInstance";
  readonly resource: "virtualclusterinstances" | "spaceinstances";
  /** In messages. */
  readonly noun: string;
  readonly description: string;
  find(namespace: string, name: string): Instance | undefined;
  isEmbedded(instance: Instance): boolean;
};

const KIND = "CertificateAuthority";
const SECRETS = { group: "", resource: "secrets", namespaced: true };
/** Records of certificates that are written at a time. */
const REVOKED_TOGETHER = 50;

export const virtualClusterAuthority = (deps: ClusterAuthorityDeps): Subresource =>
  certificateAuthority(
    {
      kind: "VirtualClusterInstance",
      resource: "virtualclusterinstances",
      noun: "virtual cluster",
      description: "The CA of the virtual cluster, with the rotation of it and of its ServiceAccount key.",
      find: deps.lookup.virtualClusterInstance,
      isEmbedded(instance) {
        const backend = deps.backends.backendOf(instance);
        return backend.endpoint === "platform" && !backend.isRemote;
      },
    },
    deps,
  );

export const spaceAuthority = (deps: ClusterAuthorityDeps): Subresource =>
  certificateAuthority(
    {
      kind: "SpaceInstance",
      resource: "spaceinstances",
      noun: "space",
      description: "The ServiceAccount key of a space on the built-in cluster, with the rotation of it and of the CA.",
      find: deps.lookup.spaceInstance,
      isEmbedded({ spec }) {
        const cluster = deps.lookup.cluster(spec?.clusterRef?.cluster ?? "");
        return cluster !== undefined && isLocalCluster(cluster);
      },
    },
    deps,
  );

function certificateAuthority(clustered: Clustered, deps: ClusterAuthorityDeps): Subresource {
  const { names, embedded, rotations, gatherUses } = deps;
  const { noun, find, isEmbedded, description } = clustered;
  const resource = { group: names.managementGroup, resource: clustered.resource };

  /** Throws ApiError 404 and 409. */
  function instanceOf({ info: { namespace, name } }: RequestContext): Instance {
    const instance = find(namespace, name);
    if (instance === undefined) throw notFoundError(resource, name);
    if (isBeingDeleted(instance)) throw conflictError(resource, name, `the ${noun} is being deleted`);
    if (!isEmbedded(instance))
      throw conflictError(resource, name, "its cluster has a CA of its own, which is rotated there");
    return instance;
  }

  async function answer(context: RequestContext, { metadata: { uid = "" } }: Instance) {
    const { namespace, name } = context.info;
    const record = await embedded.authorityOf(uid);
    if (record === undefined) throw conflictError(resource, name, `the ${noun} has not been set up yet`);
    const others = await certificatesOfOthers(uid, record, deps);
    await gatherUses(others.map(({ serial }) => serial));
    const uses = withLastUses(others, record.next?.preparedAt, deps.certificates);
    const certificates = await inTurns(uses, deps.runtime.clock);
    const tokenSecrets = await outdatedSecrets(uid, record, context, deps);
    return {
      apiVersion: `${names.managementGroup}/v1`,
      kind: KIND,
      metadata: { name, namespace },
      status: presentAuthority(record, rotations.of(uid), { certificates, tokenSecrets }),
    };
  }

  return {
    name: "certificateauthority",
    kind: { group: names.managementGroup, version: "v1", kind: KIND },
    schema: certificateAuthoritySchema,
    description,
    async get(context) {
      return await answer(context, instanceOf(context));
    },
    async create(context, body) {
      const instance = instanceOf(context);
      // The schema has been checked on the way here.
      const action = (body as CertificateAuthorityView).spec?.action;
      if (action !== undefined && !isDryRun(createOptionsOf(context.request.query))) {
        await rotateAuthority(action, instance, context, clustered, deps);
      }
      return await answer(context, instance);
    },
  };
}

async function rotateAuthority(
  action: RotationAction,
  { metadata }: Instance,
  context: RequestContext,
  { kind, resource }: Clustered,
  deps: ClusterAuthorityDeps,
): Promise<void> {
  const { names, embedded, certificates, recordEvent } = deps;
  const { uid = "", name = "", namespace = "" } = metadata;
  const { before, after } = await embedded.rotate(uid, action).catch((error: unknown) => {
    // The record of a CA does not know its object.
    const isConflict = isApiError(error) && error.code === 409;
    throw isConflict ? conflictError({ group: names.managementGroup, resource }, name, error.message) : error;
  });
  context.audit.annotate(names.key("certificate-authority-rotation"), action);
  // They are refused already; their records say so as well, and connections that they opened are closed.
  const gone = action === "Prepare" ? [] : await certificatesOfOthers(uid, after, deps);
  for (let at = 0; at < gone.length; at += REVOKED_TOGETHER) {
    await Promise.all(gone.slice(at, at + REVOKED_TOGETHER).map(({ serial }) => certificates.revoke(serial)));
  }
  if (before.next?.certificate === after.next?.certificate) return;
  recordEvent({
    involvedObject: { apiVersion: `${names.managementGroup}/v1`, kind, namespace, name, uid },
    type: "Normal",
    reason: EVENT_REASONS[action],
    message: eventText(action, after, gone.length),
  });
}

const EVENT_REASONS = {
  Prepare: "CertificateAuthorityPrepared",
  Complete: "CertificateAuthorityRotated",
  Abort: "CertificateAuthorityRotationAborted",
} as const;

function eventText(action: RotationAction, record: AuthorityRecord, revoked: number): string {
  const signing = authorityName((record.next ?? record.current).certificate);
  if (action === "Prepare")
    return `${signing} signs, and ${authorityName(record.current.certificate)} is still trusted`;
  return `${signing} is the only CA; ${revoked} certificates of the other one were revoked`;
}

/** Accepted ones that the CA which signs has not signed. */
function certificatesOfOthers(
  uid: string,
  { current, next }: AuthorityRecord,
  { certificates, runtime }: Pick<ClusterAuthorityDeps, "certificates" | "runtime">,
): Promise<readonly IssuedCertificate[]> {
  const signing = authorityName((next ?? current).certificate);
  const first = firstAuthorityName(uid);
  // A record from before rotations names no CA: it is of the first one.
  const isOutdated = ({ issuer = first }: IssuedCertificate): boolean => issuer !== signing;
  return inTurns(outdatedCertificates(certificates.ofInstance(uid), isOutdated, certificates), runtime.clock);
}

/** Secrets with a token of the key that Complete removes; undefined where no rotation is prepared. */
async function outdatedSecrets(
  uid: string,
  { next }: AuthorityRecord,
  { signal }: RequestContext,
  { embedded, runtime }: ClusterAuthorityDeps,
): Promise<readonly OutdatedItem[] | undefined> {
  if (next?.serviceAccountKey === undefined) return undefined;
  const { id } = serviceAccountKeyFromPem(next.serviceAccountKey);
  return await inTurns(secretsOfOthers(await embedded.objectsOf(uid, SECRETS, signal), id), runtime.clock);
}

function* secretsOfOthers(secrets: readonly CachedObject[], keyId: string): Steps<readonly OutdatedItem[]> {
  const found: OutdatedItem[] = [];
  for (const object of secrets) {
    yield;
    const secret = object.decode();
    const token = secret["type"] === SECRET_TOKEN_TYPE ? tokenIn(secret) : undefined;
    if (token === undefined || !looksLikeServiceAccountToken(token) || keyIdOfToken(token) === keyId) continue;
    const { namespace = "", name = "" } = secret.metadata;
    found.push({ kind: "Secret", id: `${namespace}/${name}` });
  }
  return found;
}
