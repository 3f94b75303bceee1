// Annotations of audit events that the server writes and `postern audit search` reads.

/** Name of the access key of a request, beside the handle of its value; of the key that a certificate was asked for with. */
export const ACCESS_KEY_ANNOTATION = "access-key/name";
/** The ID in a value that no access key has: of a key that was deleted, or of none. Nothing proves that the client ever had that key. */
export const ACCESS_KEY_PRESENTED_ANNOTATION = "access-key/presented-id";
/**
 * Owner of an access key that was refused, such as `user/jane`: the event of a refused credential has no user. Also of the key with which a certificate of a virtual cluster was
 * requested, where the certificate has another name than the owner.
 */
export const ACCESS_KEY_OWNER_ANNOTATION = "access-key/owner";
/** Names of the access keys that it goes back to, separated by commas. */
export const ACCESS_KEY_ORIGINS_ANNOTATION = "access-key/origins";
/** Name of the approved access request that gave the caller what it did. */
export const ACCESS_REQUEST_ANNOTATION = "access-request/name";
/** The target of a request through the proxy: `virtualcluster/<project>/<name>`, `space/<project>/<name>` or `cluster/<name>`. */
export const PROXY_TARGET_ANNOTATION = "proxy/target";
/** In an audit event, the public handle of the credential that the request was answered with. Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go (IssuedCredentialIDAuditAnnotationKey) */
export const ISSUED_CREDENTIAL_ANNOTATION = "authentication.kubernetes.io/issued-credential-id";

/** Domains of annotations that the server itself writes. Those of Kubernetes end in `k8s.io` and `kubernetes.io`. */
const SERVER_DOMAINS: readonly string[] = [
  "access-key",
  "access-request",
  "audit-chain",
  "audit-log",
  "front-proxy",
  "kubeconfig-generator",
  "proxy",
];

/**
 * Whether the annotations below a domain belong to the server. Policies and webhooks annotate events below their own names, which the administrators of a cluster
 * choose.
 */
export const isServerDomain = (domain: string): boolean =>
  SERVER_DOMAINS.includes(domain) || /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(domain);
