// The credential of a kubeconfig: a token for this one virtual cluster, or a client certificate. Its subject is the requester.

import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import { labelSelectorOf } from "@postern/api/cluster-selector";
import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { compileLabelRequirements, type Labels } from "@postern/apimachinery/selectors/label-requirement";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Configuration } from "../../../../../foundation/config/configuration.ts";
import { isFrontProxyCredential } from "../../../../../foundation/http/front-proxy-credential.ts";
import type { KubeconfigCredential } from "../../../../../foundation/kubeconfig/kubeconfig.ts";
import { ownerUid } from "../../../../access-keys/access-key-owner.ts";
import { isForAudience, platformAudience } from "../../../../access-keys/audiences.ts";
import type { AccessKeyIndex } from "../../../../access-keys/index/access-key-index.ts";
import { originsOf } from "../../../../access-keys/key-origins.ts";
import { isBoundToSources } from "../../../../access-keys/key-sources.ts";
import type { ChildKeyRequest, MintAccessKey } from "../../../../access-keys/mint-access-key.ts";
import { virtualClusterIdentity } from "../../../../authorization/caller.ts";
import type { HeldGrant } from "../../../../authorization/granted-access.ts";
import { heldGrantOf } from "../../../../authorization/held-grant.ts";
import type { InsideIdentity } from "../../../../authorization/inside/inside-groups.ts";
import type { ProjectSources } from "../../../../authorization/project-sources.ts";
import { matchesName } from "../../../../authorization/restrictions/rules.ts";
import { keyReaches } from "../../../../certificates/certificate-is-within.ts";
import type { CertificateLedger } from "../../../../certificates/certificate-ledger.ts";
import type { Directory } from "../../../../directory/directory.ts";
import type { WrappedCredential } from "../../../../wrapped-values/wrapped-record.ts";
import type { ClientCertificateRequest, VirtualClusterBackend } from "../../../virtual-cluster-backend.ts";
import { type HeldGrantDeps, onlyWith, secondsLeft, writtenWith } from "./held-grant.ts";
import { type KubeconfigRequest, MIN_TTL_SECONDS } from "./kubeconfig-request.ts";
import type { Requester } from "./kubeconfig-requester.ts";

export type CredentialDeps = HeldGrantDeps & {
  readonly mintAccessKey: MintAccessKey;
  readonly directory: Directory;
  readonly keys: Pick<AccessKeyIndex, "byId" | "byName" | "byUid">;
  readonly certificates: Pick<CertificateLedger, "record" | "makeRoom">;
  readonly frontProxy: Pick<Configuration["frontProxy"], "credentialTTLSeconds">;
  readonly projectSources: Pick<ProjectSources, "rangesOf">;
};

export type GrantedCredential = {
  readonly credential: KubeconfigCredential;
  /** Milliseconds since the epoch; undefined when it never expires. */
  readonly notAfter: number | undefined;
  /** Under which it is known here. */
  readonly known: WrappedCredential;
};

export type GrantedToken = GrantedCredential & { readonly token: string; readonly keyName: string };

/**
 * A new access key of the requester, which becomes invalid with the key of the request. `bound`: it has this name, and takes this client certificate
 * instead of its value.
 */
export async function grantToken(
  { ttlSeconds, isDefaultTtl, isReadOnly }: Pick<KubeconfigRequest, "ttlSeconds" | "isDefaultTtl" | "isReadOnly">,
  { owner, groups, parent }: Requester,
  { metadata }: VirtualClusterInstance,
  context: RequestContext,
  deps: CredentialDeps,
  bound?: { readonly name: string; readonly certificateSHA256: string },
): Promise<GrantedToken> {
  const { names, mintAccessKey } = deps;
  const { namespace = "", name = "" } = metadata;
  const project = names.projectOf(namespace) ?? "";
  const own = virtualClusterIdentity(names, namespace, name);
  if (!isForAudience(parent?.audiences ?? [], own)) throw refusal(context.info, FOR_OTHERS);
  const held = heldGrantOf(context, { project, virtualCluster: name }, deps);
  const mint = () =>
    mintAccessKey(
      {
        owner,
        groups,
        displayName: `Kubeconfig for ${project}/${name}`,
        scope: { project, virtualCluster: name },
        ...selectorsFor(parent?.restrictions, { project, virtualCluster: name }, metadata.labels ?? {}),
        audiences: [
          own,
          ...(isForAudience(parent?.audiences ?? [], platformAudience(names)) ? [platformAudience(names)] : []),
        ],
        ...(isReadOnly ? { rules: VIEW_RULES } : {}),
        ...(bound === undefined ? {} : { bound }),
        ttl: held === undefined ? ttlSeconds : Math.min(ttlSeconds ?? Infinity, secondsLeft(held, context)),
        parent: parent === undefined ? undefined : { name: parent.name, uid: parent.uid },
      },
      context,
    );
  const {
    key,
    name: keyName,
    uid: keyUid,
    expiresAt,
  } = held === undefined ? await mint() : await writtenWith(held, context, deps, mint);
  warnOfOtherEnd("token", { ttlSeconds, isDefaultTtl }, expiresAt, context);
  const known = { keyName, keyUid, keyID: deps.keys.byUid(keyUid)?.id ?? "" };
  return { credential: { token: key }, token: key, keyName, notAfter: expiresAt, known };
}

/** None where the key of the request reaches the virtual cluster by its name or its project. */
function selectorsFor(
  restrictions: AccessKeyRestrictions | undefined,
  { project, virtualCluster }: { readonly project: string; readonly virtualCluster: string },
  labels: Labels,
): Pick<ChildKeyRequest, "selectors"> {
  const { projects = [], virtualClusters = [] } = restrictions?.scope ?? {};
  if (projects.some((entry) => matchesName(entry.project, project))) return {};
  const own = virtualClusters.filter((entry) => matchesName(entry.project, project));
  if (own.some((entry) => entry.labels === undefined && matchesName(entry.virtualCluster, virtualCluster))) return {};
  const selectors = own.flatMap(({ virtualCluster: name, labels: wanted }) =>
    wanted !== undefined && (name === "" || name === virtualCluster) && compileLabelRequirements(wanted)(labels)
      ? [labelSelectorOf(wanted)]
      : [],
  );
  return selectors.length === 0 ? {} : { selectors };
}

/**
 * A certificate that names the requester and its roles inside. It expires with the key of the request at the latest.
 */
export async function grantCertificate(
  request: KubeconfigRequest,
  requester: Requester,
  { metadata }: VirtualClusterInstance,
  backend: Pick<VirtualClusterBackend, "issueClientCertificate" | "isRemote">,
  context: RequestContext,
  deps: CredentialDeps,
): Promise<GrantedCredential> {
  const { names, insideIdentity, directory, keys, certificates } = deps;
  const { owner, parent } = requester;
  const { namespace = "", name = "", uid: instanceUid = "" } = metadata;
  const place = { project: names.projectOf(namespace) ?? "", virtualCluster: name };
  checkReach(requester, place, backend, context, deps);
  const held = heldGrantOf(context, place, deps);
  const holder = held === undefined ? context.user : onlyWith(context.user, held, names);
  const whole = insideIdentity(holder, place);
  const inside = request.isReadOnly ? asViewer(whole, names) : whole;
  const subject = { commonName: inside.name, organizations: inside.groups };
  const life = lifeOf(request, parent, held, context, deps);
  // Before a cluster signs it: certificates that other clusters signed cannot be revoked.
  await certificates.makeRoom({ instanceUid, issuedTo: { owner } });
  // The certificate has the requested content beside its serial and its end, and does not outlive the key: backends see to that.
  const issue = () =>
    backend.issueClientCertificate({ ...subject, ...life, request: request.certificateRequest }, context.signal);
  const { outside } = context;
  const issued = await (backend.isRemote && outside !== undefined ? outside(issue) : issue());
  const { certificatePem, privateKeyPem, serial, notAfter, issuer } = issued;
  context.audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, `serial:${serial}`);
  await certificates.record({
    serial,
    ...subject,
    issuedAt: context.receivedAt,
    notAfter,
    instanceUid,
    issuer,
    issuedTo: {
      owner,
      ownerUid: ownerUid(owner, directory),
      ...place,
      parentUid: parent?.uid,
      origins: originsOf(context, keys),
      ...(held === undefined ? {} : { accessRequestUid: held.uid }),
    },
    ...(backend.isRemote ? { isVerifiedElsewhere: true } : {}),
  });
  warnOfOtherEnd("certificate", request, notAfter, context);
  return {
    credential: { clientCertificatePem: certificatePem, clientKeyPem: privateKeyPem },
    notAfter,
    known: { serial, instanceUid },
  };
}

/** A certificate has access to the whole virtual cluster, and to a remote one from any address. Throws ApiError 403 for a requester that has not. */
function checkReach(
  { owner, parent }: Requester,
  place: { readonly project: string; readonly virtualCluster: string },
  { isRemote }: Pick<VirtualClusterBackend, "isRemote">,
  { info }: RequestContext,
  { names, directory, projectSources }: CredentialDeps,
): void {
  if (parent !== undefined && !keyReaches(parent, place, names)) throw refusal(info, BEYOND_THE_KEY);
  if (!isRemote) return;
  if (isBoundToSources({ owner, sourceRanges: parent?.sourceRanges ?? [] }, directory))
    throw refusal(info, FROM_ANYWHERE);
  if (projectSources.rangesOf(place.project).length > 0) throw refusal(info, PROJECT_FROM_ANYWHERE);
}

/** Throws ApiError 403 where less is left than a certificate lives. */
function lifeOf(
  { ttlSeconds }: KubeconfigRequest,
  parent: Requester["parent"],
  held: HeldGrant | undefined,
  context: RequestContext,
  deps: CredentialDeps,
): Pick<ClientCertificateRequest, "expirationSeconds" | "latestEnd"> {
  const latestEnd = Math.min(parent?.expiresAt ?? Infinity, held?.until ?? Infinity, endForOtherCluster(context, deps));
  const remaining = latestEnd === Infinity ? Infinity : Math.floor((latestEnd - context.receivedAt) / 1000);
  const seconds = Math.min(ttlSeconds ?? Infinity, remaining);
  if (seconds < MIN_TTL_SECONDS) {
    const source = latestEnd === held?.until ? `the access request ${held.name}` : "the access key of the request";
    throw refusal(
      context.info,
      `certificates are valid for at least ${MIN_TTL_SECONDS} seconds, which is longer than ${source}`,
    );
  }
  return {
    expirationSeconds: seconds === Infinity ? undefined : seconds,
    latestEnd: latestEnd === Infinity ? undefined : latestEnd,
  };
}

/** Milliseconds since the epoch. The other cluster decides who its users are: what they get here ends soon. */
const endForOtherCluster = ({ credential, receivedAt }: RequestContext, deps: CredentialDeps): number =>
  isFrontProxyCredential(credential) ? receivedAt + deps.frontProxy.credentialTTLSeconds * 1000 : Infinity;

/** The group of the role view, and no other. Throws ApiError 403 for a user without a role inside. */
export function asViewer({ name, groups }: InsideIdentity, names: PlatformNames): InsideIdentity {
  const prefix = names.insideRoleGroup("");
  if (!groups.some((group) => group.startsWith(prefix)))
    throw forbiddenRequestError(
      { group: names.managementGroup, resource: "virtualclusterinstances" },
      name,
      "you have no role in the virtual cluster that includes view: leave out spec.role",
    );
  return { name, groups: [names.insideRoleGroup("view")] };
}

function warnOfOtherEnd(
  what: "token" | "certificate",
  { ttlSeconds, isDefaultTtl }: Pick<KubeconfigRequest, "ttlSeconds" | "isDefaultTtl">,
  notAfter: number | undefined,
  { warnings, receivedAt }: RequestContext,
): void {
  if (ttlSeconds === undefined || notAfter === undefined) return;
  const late = notAfter - (receivedAt + ttlSeconds * 1000);
  if (late >= -CLOCK_TOLERANCE_MS && late <= SIGNER_TOLERANCE_MS) return;
  // A request that leaves the TTL to the server gets what the key of the request has left, and asked for nothing else.
  if (late < 0 && isDefaultTtl) return;
  const how = late < 0 ? "earlier" : "later";
  warnings.add(`the ${what} expires ${how} than requested: see status.expirationTimestamp`);
}

const BEYOND_THE_KEY =
  "a certificate has access to the whole virtual cluster, but your access key does not: leave out spec.clientCert";

const FOR_OTHERS = "spec.audiences of your access key does not include this virtual cluster";

const FROM_ANYWHERE =
  "the cluster accepts a certificate from any address, and your access key or user has spec.allowedSourceRanges: leave out spec.clientCert";

const PROJECT_FROM_ANYWHERE =
  "the cluster accepts a certificate from any address, and the project has spec.allowedSourceRanges: leave out spec.clientCert";

const refusal = ({ apiGroup, resource, name }: RequestContext["info"], why: string) =>
  forbiddenRequestError({ group: apiGroup, resource }, name, why);

/** Certificates end at whole seconds. */
const CLOCK_TOLERANCE_MS = 2_000;
/** The clock of a cluster that signs may be ahead. */
const SIGNER_TOLERANCE_MS = 5 * 60_000;

// Source: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (viewRules)
const CORE = [
  ...["configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods", "replicationcontrollers"],
  ...["resourcequotas", "serviceaccounts", "services", "namespaces", "bindings"],
  ...["namespaces/status", "persistentvolumeclaims/status", "pods/log", "pods/status", "replicationcontrollers/scale"],
  ...["replicationcontrollers/status", "resourcequotas/status", "services/status"],
];
const GROUPS = ["apps", "autoscaling", "batch", "discovery.k8s.io", "events.k8s.io", "networking.k8s.io", "policy"];
const INSIDE = { requestTargets: ["ProjectVirtualCluster"] as const };

/** For `spec.rules` of the key. Groups are compared one by one: groups of custom resources may contain anything. */
const VIEW_RULES: NonNullable<AccessKeySpec["rules"]> = [
  {
    ...INSIDE,
    verbs: ["get", "list", "watch"],
    resources: [{ group: "", resources: CORE }, ...GROUPS.map((group) => ({ group }))],
  },
  {
    ...INSIDE,
    verbs: ["create"],
    resources: [{ group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] }],
  },
  { ...INSIDE, verbs: ["get", "head"], nonResourceURLs: ["/*"] },
];
