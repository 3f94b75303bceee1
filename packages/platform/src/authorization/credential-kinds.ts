// Every resource that yields a credential, on the management API and in embedded clusters, and the limits of that credential.

import type { TargetedRequest } from "./platform-request.ts";

export type CredentialKind = {
  readonly surface: "management" | "cluster";
  readonly group: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
  /** Why the credential never has more permissions, or a later expiration, than the key of the request. */
  readonly bound: string;
  /** Such requests issue a credential of the cluster: rules must allow the whole cluster. */
  readonly allowsAll?: true;
};

const DOMAIN = "management";
const SIGNERS = "certificates.k8s.io";
const ADMISSION = "admissionregistration.k8s.io";

/** Groups of the platform stand without their domain: `management`, `storage`. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "",
    bound: "a child: within its maker's owner, groups and restrictions at every use, and it dies with a narrowed maker",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "rotate",
    bound: "the same key with a new value; the value goes back to the key of the request",
  },
  {
    surface: "management",
    group: "storage",
    resource: "accesskeys",
    subresource: "",
    bound: "the same records; writes go through the same checks, and reads show no value",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "kubeconfig",
    bound: "a key scoped to the cluster, or a certificate, that dies with the key of the request",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "accesskey",
    bound: "never given to a narrowed key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clusters",
    subresource: "accesskey",
    bound: "never given to a narrowed key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clustertrustrules",
    subresource: "",
    bound:
      "gives keys that its writer may give, for an hour at most; they end with the rule, which ends with a narrowed writer",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "trustrules",
    subresource: "",
    bound: "the same, and nothing outside of the project",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "identityproviders",
    subresource: "",
    bound:
      "signs in whom it names: writing one takes the verb impersonate on all users and groups, within the key as well",
  },
  {
    surface: "management",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "holds what a client stored in it; the server reads no token from it, and stores none in it",
  },
  {
    surface: "cluster",
    group: "",
    resource: "serviceaccounts",
    subresource: "token",
    bound: "a token that carries its lineage, which is asked about at every use",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "a token Secret is asked for as a TokenRequest is, and its token carries its lineage",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "",
    bound: "signed after approval alone; the certificate goes back to the key of the request",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "approval",
    bound: "the certificate goes back to the key that approved it as well",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "status",
    bound: "takes a certificate that another CA signed, and the verb sign; the server's CA signs none here",
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicies",
    subresource: "",
    bound: "its expressions see every object that they match, and its parameters",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicybindings",
    subresource: "",
    bound: "its parameters may be Secrets, and messages can show what is in them",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingwebhookconfigurations",
    subresource: "",
    bound: "every object that they match is sent to them, Secrets as well",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingwebhookconfigurations",
    subresource: "",
    bound:
      "every object that they match is sent to them, and they change what others write, roles and bindings among it",
    allowsAll: true,
  },
];

// Detects requests that issue credentials of a cluster behind the proxy: the limits of the key do not apply to those.

/** The token of a ServiceAccount, the word that lets a certificate be signed, and policies, whose expressions read what they match. */
const HANDING_OUT = CREDENTIAL_KINDS.filter(({ surface, allowsAll }) => surface === "cluster" && allowsAll === true);
const READS: readonly string[] = ["get", "list", "watch"];

/** A question about all resources (`*`) is one about these too. */
export function issuesCredential({
  isResourceRequest,
  verb,
  apiGroup,
  resource,
  subresource,
}: Pick<TargetedRequest, "isResourceRequest" | "verb" | "apiGroup" | "resource" | "subresource">): boolean {
  if (!isResourceRequest || READS.includes(verb)) return false;
  return HANDING_OUT.some((handing) => {
    if (apiGroup !== handing.group && apiGroup !== "*") return false;
    if (resource === "*" && subresource === "") return true;
    const isAll = resource === "*" || resource === handing.resource;
    return isAll && (subresource === handing.subresource || subresource === "*");
  });
}
