// `credentials` below users, teams, access keys and virtual clusters: all valid credentials with their parents, and their revocation together with
// all descendants.

import type { AccessKeyScope } from "@postern/api/access-key-restrictions";
import { type CredentialLedger, credentialLedgerSchema } from "@postern/api/credential-ledger";
import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { invalidObjectError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { invalidError, notFoundFieldError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { ObjectLookup } from "../../../foundation/lookup/object-lookup.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import { type IssuedCertificate, parentUidsOf } from "../../certificates/issued-certificate.ts";
import type { Directory } from "../../directory/directory.ts";
import type { AccessKeyIndex } from "../access-key-index.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { LastActivity } from "../last-activity.ts";

export type CredentialSubject = {
  readonly keys: readonly AccessKeyState[];
  readonly certificates: readonly IssuedCertificate[];
};

export type CredentialsDeps = EntryDeps & {
  /** Disables a key on the server's own account. */
  readonly disableKey: (key: AccessKeyState) => Promise<void>;
};

const KIND = "CredentialLedger";
const AUDIT_REVOKED = "revoked-credentials";

/** `subjectOf` gives what belongs to the object of the path; it throws 404 where the caller does not see that object. */
export function credentialsSubresource(
  subjectOf: (context: RequestContext) => CredentialSubject | Promise<CredentialSubject>,
  deps: CredentialsDeps,
): Subresource {
  const { names, keys, certificates, disableKey } = deps;
  const kind = { group: names.managementGroup, version: "v1", kind: KIND };

  /** With everything that was made with it. */
  async function liveOf(context: RequestContext): Promise<CredentialSubject> {
    await keys.whenRead();
    const subject = await subjectOf(context);
    const foundKeys = new Map<string, AccessKeyState>();
    const foundCertificates = new Map<string, IssuedCertificate>();
    const addCertificate = (certificate: IssuedCertificate): void => {
      const { serial, instanceUid } = certificate;
      const isAccepted =
        certificates.refusalOf(serial, instanceUid) === undefined || certificates.isAcceptedElsewhere(certificate);
      if (isAccepted) foundCertificates.set(serial, certificate);
    };
    const seen = new Set<string>();
    const add = (key: AccessKeyState): void => {
      if (seen.has(key.uid)) return;
      seen.add(key.uid);
      // Clusters may still accept certificates that were created with a refused key.
      if (keys.refusalOf(key) === undefined) foundKeys.set(key.uid, key);
      for (const certificate of certificates.childrenOf(key.uid)) addCertificate(certificate);
      for (const child of keys.childrenOf(key.uid)) add(child);
    };
    const sorted = [...subject.keys].sort((a, b) => (a.name < b.name ? -1 : 1));
    const isRoot = ({ parentUids }: AccessKeyState): boolean => parentUids.length === 0;
    for (const key of [...sorted.filter(isRoot), ...sorted]) add(key);
    for (const certificate of subject.certificates) addCertificate(certificate);
    return { keys: [...foundKeys.values()], certificates: [...foundCertificates.values()] };
  }

  async function answer(context: RequestContext) {
    const { namespace, name } = context.info;
    const live = await liveOf(context);
    return {
      apiVersion: `${names.managementGroup}/v1`,
      kind: KIND,
      metadata: { name, ...(namespace === "" ? {} : { namespace }) },
      status: {
        credentials: [
          ...live.keys.map((key) => keyEntry(key, deps)),
          ...live.certificates.map((certificate) => certificateEntry(certificate, deps)),
        ],
      },
    };
  }

  async function revoke(wanted: readonly string[], context: RequestContext): Promise<void> {
    const live = await liveOf(context);
    const found = wanted.map((id, at) => {
      const key = live.keys.find((candidate) => candidate.id === id);
      const certificate = live.certificates.find(({ serial }) => idOfCertificate(serial) === id);
      // All or nothing: an error in one of them is reported before anything is revoked.
      if (key === undefined && certificate === undefined) {
        throw invalidObjectError(kind, context.info.name, [notFoundFieldError(`spec.revoke[${at}]`, id)]);
      }
      if (certificate?.isVerifiedElsewhere === true) {
        const why = notRevocable(certificate);
        throw invalidObjectError(kind, context.info.name, [invalidError(`spec.revoke[${at}]`, id, why)]);
      }
      return { key, certificate };
    });
    if (wanted.length === 0 || isDryRun(createOptionsOf(context.request.query))) return;
    for (const { key, certificate } of found) {
      if (key !== undefined) await disableKey(key);
      if (certificate !== undefined) await certificates.revoke(certificate.serial);
    }
    context.audit.annotate(names.key(AUDIT_REVOKED), wanted.join(","));
  }

  return {
    name: "credentials",
    kind,
    schema: credentialLedgerSchema,
    description: "All valid credentials: access keys, kubeconfig tokens and certificates.",
    get: answer,
    async create(context, body) {
      // The schema has been checked on the way here.
      await revoke((body as CredentialLedger).spec?.revoke ?? [], context);
      return await answer(context);
    },
  };
}

/** Says what is true, and what can be done. */
const notRevocable = ({ notAfter }: IssuedCertificate): string =>
  `cannot be revoked: it is valid until ${formatTimestamp(notAfter)} in the cluster itself, which verifies it without asking the platform. ` +
  "Remove the permissions of its subject there, or replace the client CA of the cluster. Before: use a shorter spec.certificateTTL, or kubeconfigs with tokens";

// How a credential is shown in a list of them.

type EntryDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly certificates: CertificateLedger;
  /** The records of `ownedaccesskeys`. */
  readonly accessKeys: Pick<ControlledResource, "keys" | "view">;
  readonly activity: Pick<LastActivity, "written">;
};

/** True where nothing but entries of `virtualClusters` is in the scope. */
export const isLimitedToVirtualClusters = ({ projects, spaces, clusters, roles }: AccessKeyScope): boolean =>
  projects.length + spaces.length + clusters.length + roles.length === 0;

const idOfCertificate = (serial: string): string => `serial:${serial}`;

function keyEntry(key: AccessKeyState, deps: EntryDeps): JsonObject {
  const { accessKeys } = deps;
  const record = accessKeys.view.get(accessKeys.keys.of("", key.name))?.decode();
  const creationTimestamp = record?.metadata.creationTimestamp ?? undefined;
  const status = record?.["status"];
  const { lastActivity: before, issuedBy } = isJsonObject(status) ? status : {};
  const usedAt = deps.activity.written(key);
  // A record of an earlier release has it itself.
  const lastActivity = usedAt === undefined ? before : formatTimestamp(usedAt);
  return {
    id: key.id,
    kind: "AccessKey",
    name: key.name,
    ...(key.type === "" ? {} : { type: key.type }),
    owner: `${key.owner.kind}/${key.owner.name}`,
    ...virtualClusterOf(key),
    parents: key.parentUids.flatMap((uid) => idOf(uid, deps)),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(key.expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(key.expiresAt) }),
    ...(typeof lastActivity === "string" ? { lastActivity } : {}),
    ...(issuedBy === undefined ? {} : { issuedBy }),
  };
}

function certificateEntry(certificate: IssuedCertificate, deps: EntryDeps): JsonObject {
  const { serial, commonName, issuedTo, issuedAt, notAfter, isVerifiedElsewhere } = certificate;
  const holder =
    issuedTo === undefined
      ? {}
      : {
          owner: `${issuedTo.owner.kind}/${issuedTo.owner.name}`,
          virtualCluster: `${issuedTo.project}/${issuedTo.virtualCluster}`,
        };
  return {
    id: idOfCertificate(serial),
    kind: "Certificate",
    ...holder,
    subject: commonName,
    parents: parentUidsOf(certificate).flatMap((uid) => idOf(uid, deps)),
    creationTimestamp: formatTimestamp(issuedAt),
    expirationTimestamp: formatTimestamp(notAfter),
    ...(isVerifiedElsewhere === true ? { enforcedBy: "Cluster" } : {}),
  };
}

/** Only of a key that opens a single virtual cluster and nothing else, as the keys in kubeconfigs do. */
function virtualClusterOf({ restrictions }: AccessKeyState): JsonObject {
  const scope = restrictions?.scope;
  const [only, ...more] = scope?.virtualClusters ?? [];
  if (scope === undefined || only === undefined || more.length > 0 || !isLimitedToVirtualClusters(scope)) return {};
  const isOne = only.project !== "*" && only.virtualCluster !== "*";
  return isOne ? { virtualCluster: `${only.project}/${only.virtualCluster}` } : {};
}

function idOf(uid: string, { keys }: EntryDeps): readonly string[] {
  const id = keys.byUid(uid)?.id;
  return id === undefined ? [] : [id];
}

// Which credentials belong to an owner, and to a virtual cluster.

type Sources = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly certificates: Pick<CertificateLedger, "ownedBy" | "ofInstance">;
};

export function credentialsOfOwner(
  kind: "user" | "team",
  { info: { name } }: RequestContext,
  { names, keys, certificates, directory }: Sources & { readonly directory: Directory },
): CredentialSubject {
  const holder = kind === "user" ? directory.user(name) : directory.team(name);
  if (holder === undefined) throw notFoundError({ group: names.managementGroup, resource: `${kind}s` }, name);
  const owner = { kind, name };
  return { keys: keys.ownedBy(owner), certificates: certificates.ownedBy(owner) };
}

/** Its certificates, and the keys that are refused but it: those of its kubeconfigs. Keys that reach further are their owners'. */
export function credentialsOfInstance(
  { info: { namespace, name } }: RequestContext,
  {
    names,
    certificates,
    lookup,
    allKeys,
  }: Sources & {
    readonly lookup: Pick<ObjectLookup, "virtualClusterInstance">;
    readonly allKeys: () => Iterable<AccessKeyState>;
  },
): CredentialSubject {
  const instance = lookup.virtualClusterInstance(namespace, name);
  if (instance === undefined) {
    throw notFoundError({ group: names.managementGroup, resource: "virtualclusterinstances" }, name);
  }
  const project = names.projectOf(namespace);
  const found: AccessKeyState[] = [];
  for (const key of allKeys()) {
    const scope = key.restrictions?.scope;
    if (scope === undefined || scope.virtualClusters.length === 0) continue;
    const isThis = scope.virtualClusters.every((entry) => entry.project === project && entry.virtualCluster === name);
    if (isThis && isLimitedToVirtualClusters(scope)) found.push(key);
  }
  return { keys: found, certificates: certificates.ofInstance(instance.metadata.uid ?? "") };
}
