// A record found by a search of the audit log, shared by the server, the command line and the console.

/** One request. */
export type AuditRecord = {
  /** RFC 3339. */
  readonly time: string;
  readonly key: string;
  readonly keyID: string;
  /** Names of the keys that it goes back to. */
  readonly origins: readonly string[];
  readonly user: string;
  readonly impersonatedUser?: string;
  /** The user of a request that starts a session: its `user` is not known when it arrives. */
  readonly signedInUser?: string;
  /** Owner of an access key that was refused, such as `user/jane`; `user` is empty then. */
  readonly owner?: string;
  /** Empty for the management API itself. */
  readonly cluster: string;
  readonly verb: string;
  /** As kubectl writes it: `deployments.apps/name -n namespace`; of other requests the path. */
  readonly object: string;
  readonly code: number;
  /** Why the credential was refused. */
  readonly refusal?: string;
  /** The answer to a request that failed. */
  readonly message?: string;
  /** Name of the approved access request that the caller had there. */
  readonly accessRequest?: string;
  readonly sourceIP: string;
  readonly auditID: string;
};

/** The user of the request; of a sign-in, the one who signed in; of a refused access key, its owner. Empty where none is known. */
export const actorOf = ({ user, signedInUser, owner }: Pick<AuditRecord, "user" | "signedInUser" | "owner">): string =>
  signedInUser ?? (user === "" ? (owner?.slice(owner.indexOf("/") + 1) ?? "") : user);
