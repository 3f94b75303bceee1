// Where the keys of an issuer come from, as a trust rule or an identity provider names it.

/** Equal texts of `id` mean the same source. */
export type IssuerSource = {
  readonly id: string;
  readonly issuer: string;
  readonly discoveryURL: string | undefined;
  readonly certificateAuthorityPem: string | undefined;
  /** The text of a key set in the object itself: nothing is fetched. */
  readonly jwks: string | undefined;
  /** Written by a member of a project, who must not make the server send requests into its own network. */
  readonly isTenants: boolean;
};
