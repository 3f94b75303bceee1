// Every resource that yields a credential, on the management API and in embedded clusters, and the limits of that credential.

export type CredentialKind = {
  readonly surface: "management" | "cluster";
  readonly group: string;
  readonly resource: string;
  /** "" for the resource itself. */
  readonly subresource: string;
  /** Why the credential never has more permissions, or a later expiration, than the key of the request. */
  readonly bound: string;
  /** Why it ends with access that was granted for a time, where it was made with that (ADR 280). */
  readonly granted: string;
  /** Such requests issue a credential of the cluster: rules must allow the whole cluster. */
  readonly allowsAll?: true;
};

const DOMAIN = "management";
const SIGNERS = "certificates.k8s.io";
const ADMISSION = "admissionregistration.k8s.io";

/** Groups of the platform are without their domain: `management`, `storage`. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "",
    bound: "a child: within the owner, groups and limits of its parent at every use, and invalid with a limited parent",
    granted: "a key without a scope is in the group of the grant while it lasts; one with a scope never is",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "rotate",
    bound: "the same key with a new value, which records the key of the request as its origin",
    granted: "the same key",
  },
  {
    surface: "management",
    group: "storage",
    resource: "accesskeys",
    subresource: "",
    bound: "the same records: the same checks for writes, and reads return no value",
    granted: "the same records",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "kubeconfig",
    bound: "a key scoped to the cluster, or a certificate, that becomes invalid with the key of the request",
    granted: "ends with the grant",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "accesskey",
    bound: "never returned to a limited key",
    granted: "never returned for a right of a grant",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clusters",
    subresource: "accesskey",
    bound: "never returned to a limited key",
    granted: "never returned for a right of a grant",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "join",
    bound: "never returned to a limited key",
    granted: "never returned for a right of a grant",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clusters",
    subresource: "join",
    bound: "never returned to a limited key",
    granted: "never returned for a right of a grant",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clustertrustrules",
    subresource: "",
    bound:
      "issues keys that its writer may grant, for at most an hour; they become invalid with the rule, and the rule with a limited key of its writer",
    granted: "no grant has rights to it",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "trustrules",
    subresource: "",
    bound: "the same, within the project",
    granted: "its writer needs standing rights to what it gives",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "kubeconfiggenerators",
    subresource: "",
    bound: "its kubeconfigs have keys of its creator, which become invalid with a limited key of the creator",
    granted: "its creator needs standing rights to the Secrets, and its key has no grants",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "identityproviders",
    subresource: "",
    bound:
      "determines who signs in: writing one requires impersonate on all users and groups, also within the limits of the key",
    granted: "no grant has rights to it",
  },
  {
    surface: "management",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "contains what a client stored; the server neither reads nor writes tokens in it",
    granted: "contains what a client stored",
  },
  {
    surface: "cluster",
    group: "",
    resource: "serviceaccounts",
    subresource: "token",
    bound: "a token with its lineage, which is checked at every use",
    granted: "its lineage has the access request",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "a token Secret is checked like a TokenRequest, and its token has its lineage",
    granted: "its lineage has the access request",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "",
    bound: "signed only after approval; the certificate records the key of the request",
    granted: "the record of the certificate has the access request",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "approval",
    bound: "the certificate records the key that approved it as well",
    granted: "the record of the certificate has that of the approver as well",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "status",
    bound: "accepts a certificate of another CA, and requires the verb sign; the server's CA does not sign here",
    granted: "accepts a certificate of another CA",
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicies",
    subresource: "",
    bound: "its expressions read every object that they match, and its parameters",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicybindings",
    subresource: "",
    bound: "its parameters may be Secrets, and messages can reveal their content",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingadmissionpolicies",
    subresource: "",
    bound: "they change what others write, including roles and bindings, and their expressions read it",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingadmissionpolicybindings",
    subresource: "",
    bound: "they put such a policy into force, and its parameters may be Secrets",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingwebhookconfigurations",
    subresource: "",
    bound: "they receive every object that they match, including Secrets",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingwebhookconfigurations",
    subresource: "",
    bound: "they receive every object that they match, and change what others write, including roles and bindings",
    granted: "state of the cluster, which lasts: it yields no credential of its own",
    allowsAll: true,
  },
];
