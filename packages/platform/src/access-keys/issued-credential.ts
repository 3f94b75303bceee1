// Names the credential that a request was answered with, in its audit event.

/** The public handle. Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go (IssuedCredentialIDAuditAnnotationKey) */
export const AUDIT_ISSUED_CREDENTIAL = "authentication.kubernetes.io/issued-credential-id";
