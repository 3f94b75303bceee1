// The port for users, teams, and memberships.

export type DirectoryUser = {
  readonly name: string;
  readonly uid: string;
  /** The user name of requests: spec.subject, or the object's name. */
  readonly subject: string;
  /** spec.groups, and the groups that identity providers have sent. */
  readonly groups: readonly string[];
  readonly identities: readonly DirectoryIdentity[];
  readonly displayName: string;
  readonly username: string;
  readonly email: string;
  /** spec.kind is Bot: a program, which does not sign in. */
  readonly isBot: boolean;
  /** spec.allowedSourceRanges. Absent: requests of the user come from anywhere. */
  readonly sourceRanges?: readonly string[];
  /** A locked user's keys are refused until it is unlocked. */
  readonly locked: boolean;
};

/** An identity that a user signs in with. `subject` is its name at the provider. */
export type DirectoryIdentity = { readonly provider: string; readonly subject: string };

export type DirectoryTeam = {
  readonly name: string;
  readonly uid: string;
  readonly displayName: string;
  readonly groups: readonly string[];
};

export type Directory = {
  /** Goes up with every change: for memoising what was derived from it. */
  readonly version: number;
  users(): Iterable<DirectoryUser>;
  user(name: string): DirectoryUser | undefined;
  userBySubject(subject: string): DirectoryUser | undefined;
  /** User that signs in as this subject of an identity provider. */
  userByIdentity(provider: string, subject: string): DirectoryUser | undefined;
  team(name: string): DirectoryTeam | undefined;
  /** Teams that a user is in, by its name. */
  teamsOf(user: string): readonly DirectoryTeam[];
  /** Teams that a user of this name and these groups of its own is in, or would be. */
  teamsWith(user: string, groups: readonly string[]): readonly DirectoryTeam[];
  /** The users that are in one of the teams, each once. */
  membersOf(teams: ReadonlySet<string>): readonly DirectoryUser[];
  /** Calls back after every change until disposed. */
  onChange(listener: () => void): Disposable;
};
