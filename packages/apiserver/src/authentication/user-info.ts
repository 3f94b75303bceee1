// The user of a request.
// Source: k8s.io/apiserver/pkg/authentication/user/user.go

/** A user as RBAC and audit know it: a name, and the groups that it belongs to. */
export type UserInfo = {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: { readonly [key: string]: readonly string[] };
};

/** The member of `extra` that identifies the credential of a request. */
export const EXTRA_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";

export const ANONYMOUS_USER = "system:anonymous";
export const GROUP_UNAUTHENTICATED = "system:unauthenticated";
export const GROUP_AUTHENTICATED = "system:authenticated";
export const GROUP_MASTERS = "system:masters";

export const anonymousUser: UserInfo = { name: ANONYMOUS_USER, groups: [GROUP_UNAUTHENTICATED] };
