// Every resource that yields a credential, on the management API and in embedded clusters, and the limits of that credential.

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

/** Groups of the platform are without their domain: `management`, `storage`. */
export const CREDENTIAL_KINDS: readonly CredentialKind[] = [
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "",
    bound: "a child: within the owner, groups and limits of its parent at every use, and invalid with a limited parent",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "ownedaccesskeys",
    subresource: "rotate",
    bound: "the same key with a new value, which records the key of the request as its origin",
  },
  {
    surface: "management",
    group: "storage",
    resource: "accesskeys",
    subresource: "",
    bound: "the same records: the same checks for writes, and reads return no value",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "kubeconfig",
    bound: "a key scoped to the cluster, or a certificate, that becomes invalid with the key of the request",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "accesskey",
    bound: "never returned to a limited key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clusters",
    subresource: "accesskey",
    bound: "never returned to a limited key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "virtualclusterinstances",
    subresource: "join",
    bound: "never returned to a limited key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clusters",
    subresource: "join",
    bound: "never returned to a limited key",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "clustertrustrules",
    subresource: "",
    bound:
      "issues keys that its writer may grant, for at most an hour; they become invalid with the rule, and the rule with a limited key of its writer",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "trustrules",
    subresource: "",
    bound: "the same, within the project",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "kubeconfiggenerators",
    subresource: "",
    bound: "its kubeconfigs have keys of its creator, which become invalid with a limited key of the creator",
  },
  {
    surface: "management",
    group: DOMAIN,
    resource: "identityproviders",
    subresource: "",
    bound:
      "determines who signs in: writing one requires impersonate on all users and groups, also within the limits of the key",
  },
  {
    surface: "management",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "contains what a client stored; the server neither reads nor writes tokens in it",
  },
  {
    surface: "cluster",
    group: "",
    resource: "serviceaccounts",
    subresource: "token",
    bound: "a token with its lineage, which is checked at every use",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: "",
    resource: "secrets",
    subresource: "",
    bound: "a token Secret is checked like a TokenRequest, and its token has its lineage",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "",
    bound: "signed only after approval; the certificate records the key of the request",
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "approval",
    bound: "the certificate records the key that approved it as well",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: SIGNERS,
    resource: "certificatesigningrequests",
    subresource: "status",
    bound: "accepts a certificate of another CA, and requires the verb sign; the server's CA does not sign here",
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicies",
    subresource: "",
    bound: "its expressions read every object that they match, and its parameters",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingadmissionpolicybindings",
    subresource: "",
    bound: "its parameters may be Secrets, and messages can reveal their content",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingadmissionpolicies",
    subresource: "",
    bound: "they change what others write, including roles and bindings, and their expressions read it",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingadmissionpolicybindings",
    subresource: "",
    bound: "they put such a policy into force, and its parameters may be Secrets",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "validatingwebhookconfigurations",
    subresource: "",
    bound: "they receive every object that they match, including Secrets",
    allowsAll: true,
  },
  {
    surface: "cluster",
    group: ADMISSION,
    resource: "mutatingwebhookconfigurations",
    subresource: "",
    bound: "they receive every object that they match, and change what others write, including roles and bindings",
    allowsAll: true,
  },
];
