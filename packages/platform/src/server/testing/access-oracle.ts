// Access on request as the guide describes it, over plain data: which request is granted, which decision counts, and which rights there are. It shares no
// code with the server.

/** Most that the clocks of servers may differ. */
const SKEW_MS = 300_000;
const PENDING_MS = 86_400_000;
export const PROJECTS = ["a", "b"] as const;
export const CLUSTERS = ["eu", "us"] as const;

export type Place = {
  readonly kind: "Project" | "VirtualCluster" | "Cluster";
  readonly project: string;
  readonly name: string;
};
export const placeId = ({ kind, project, name }: Place): string => `${kind}/${project}/${name}`;

export const PLACES: readonly Place[] = [
  ...PROJECTS.flatMap((project): Place[] => [
    { kind: "Project", project, name: "" },
    ...CLUSTERS.map((name): Place => ({ kind: "VirtualCluster", project, name })),
  ]),
  ...CLUSTERS.map((name): Place => ({ kind: "Cluster", project: "", name })),
];
export const ROLES: { readonly [kind in Place["kind"]]: readonly string[] } = {
  Project: ["reads-secrets", "reads-services"],
  // The last one is bound nowhere.
  VirtualCluster: ["view", "edit", "admin"],
  Cluster: [""],
};

export type User = { readonly name: string; readonly email: string; isOnCall: boolean; isLocked: boolean };
export type Asked = { readonly role: string; readonly place: Place; readonly seconds: number };
type Condition<Args extends readonly unknown[]> = { readonly cel: string; holds(...args: Args): boolean };

export const REQUESTER_CONDITIONS: readonly Condition<[user: User, teams: readonly string[]]>[] = [
  { cel: "'oncall' in user.groups", holds: ({ isOnCall }) => isOnCall },
  { cel: "user.email.startsWith('ann@') && !user.isBot", holds: ({ email }) => email.startsWith("ann@") },
  { cel: "user.teams.exists(team, team == 'leads')", holds: (_, teams) => teams.includes("leads") },
];
export const APPROVAL_CONDITIONS: readonly Condition<[user: User, asked: Asked, now: number]>[] = [
  { cel: "request.role == 'view'", holds: (_, { role }) => role === "view" },
  {
    cel: "'oncall' in user.groups && request.durationSeconds <= 60",
    holds: ({ isOnCall }, { seconds }) => isOnCall && seconds <= 60,
  },
  { cel: "now.getHours() < 12", holds: (_user, _asked, now) => new Date(now).getUTCHours() < 12 },
  {
    cel: "request.cluster == 'eu' || request.project == 'b'",
    holds: (_, { place }) => place.project === "b" || (place.kind === "Cluster" && place.name === "eu"),
  },
  // Fails while it is evaluated, which is a no.
  { cel: "request.missing == 'x'", holds: () => false },
];

export type Target = {
  readonly kind: Place["kind"];
  readonly projects?: readonly string[];
  readonly names?: readonly string[];
  readonly env?: string;
  readonly roles?: readonly string[];
};

/** A policy as it is drawn. Conditions are numbers of the lists above. */
export type Policy = {
  readonly users: readonly string[];
  readonly teams: readonly string[];
  readonly condition: number | undefined;
  readonly targets: readonly Target[];
  readonly maxSeconds: number;
  readonly approvers:
    | {
        readonly users: readonly string[];
        readonly teams: readonly string[];
        readonly count: number;
        readonly allowRequester: boolean;
      }
    | undefined;
  readonly autoApprove: number | undefined;
  readonly allowEmergency: boolean;
  readonly reason: "" | "required" | "ticket";
  readonly isOff: boolean;
};

/** `life` grows when a policy is made again, `generation` with each change. */
type StoredPolicy = { readonly policy: Policy; readonly life: number; readonly generation: number };

export type Request = Asked & {
  readonly name: string;
  readonly user: string;
  readonly slot: number;
  readonly life: number;
  readonly generation: number;
  readonly target: string;
  readonly rules: string;
  /** Users who could approve when it was made. */
  readonly approvers: readonly string[];
  readonly isEmergency: boolean;
  readonly expires: number;
  phase: "Pending" | "Approved" | "Ended";
  approvals: readonly string[];
  from: number;
  until: number;
};

/** One server's clock, and what has been over by it. */
export type ServerTime = {
  readonly now: () => number;
  readonly elapsed: () => number;
  readonly over: Set<string>;
  /** By request: when the server learned of the approval. */
  readonly learned: Map<string, { readonly now: number; readonly elapsed: number }>;
};

export type Decision = "Approve" | "Deny" | "Withdraw" | "Revoke" | "Review";

/** Slots of policies; the last one is a policy of project a. */
export const SLOTS = 3;
const OF_PROJECT = SLOTS - 1;

export class AccessOracle {
  readonly users = new Map<string, User>();
  readonly teams = new Map<string, readonly string[]>();
  readonly places = new Map<string, { readonly uid: string; readonly env: string }>();
  readonly rules = new Map<string, string>();
  readonly policies = new Map<number, StoredPolicy>();
  readonly requests: Request[] = [];
  /** Has the verb approve on all policies, by a binding. */
  readonly approverByRole: string;
  #lives = 0;

  constructor(approverByRole: string) {
    this.approverByRole = approverByRole;
  }

  putPolicy(slot: number, policy: Policy): void {
    const before = this.policies.get(slot);
    const isSame = before !== undefined && JSON.stringify(before.policy) === JSON.stringify(policy);
    this.policies.set(slot, {
      policy,
      life: before?.life ?? ++this.#lives,
      generation: (before?.generation ?? 0) + (isSame ? 0 : 1),
    });
  }

  teamsOf = (user: string): readonly string[] =>
    [...this.teams].filter(([, members]) => members.includes(user)).map(([team]) => team);

  #isNamed = (
    people: { readonly users: readonly string[]; readonly teams: readonly string[] },
    user: string,
  ): boolean => people.users.includes(user) || this.teamsOf(user).some((team) => people.teams.includes(team));

  mayAsk(policy: Policy, name: string): boolean {
    const user = this.users.get(name);
    if (user === undefined || user.isLocked) return false;
    const condition = policy.condition === undefined ? undefined : REQUESTER_CONDITIONS[policy.condition];
    return this.#isNamed(policy, name) || condition?.holds(user, this.teamsOf(name)) === true;
  }

  offers(slot: number, policy: Policy, place: Place, role: string): boolean {
    const env = this.places.get(placeId(place))?.env;
    return policy.targets.some(({ kind, projects = [], names, env: wanted, roles = [] }) => {
      if (kind !== place.kind) return false;
      if (kind === "Cluster" ? role !== "" : !roles.includes(role)) return false;
      const reached = slot === OF_PROJECT ? ["a"] : projects;
      if (kind !== "Cluster" && !reached.includes(place.project) && !reached.includes("*")) return false;
      if (kind === "Project") return true;
      return (names === undefined || names.includes(place.name)) && (wanted === undefined || wanted === env);
    });
  }

  #rulesOf = ({ kind }: Place, role: string): string => (kind === "Project" ? (this.rules.get(role) ?? "") : "");

  /** The request as it is stored; undefined: it is refused. */
  ask(
    given: Asked & {
      readonly name: string;
      readonly user: string;
      readonly slot: number;
      readonly reason: string;
      readonly isEmergency: boolean;
    },
    now: number,
  ): Request | undefined {
    const { user, slot, place, role, seconds, reason, isEmergency, name } = given;
    const stored = this.policies.get(slot);
    const asking = this.users.get(user);
    const found = this.places.get(placeId(place));
    if (stored === undefined || asking === undefined || found === undefined) return undefined;
    const { policy, life, generation } = stored;
    if (slot === OF_PROJECT && place.project !== "a") return undefined;
    if (policy.isOff || !this.mayAsk(policy, user) || !this.offers(slot, policy, place, role)) return undefined;
    if (role === "admin" || seconds > policy.maxSeconds || (isEmergency && !policy.allowEmergency)) return undefined;
    if (policy.reason !== "" && reason === "") return undefined;
    if (policy.reason === "ticket" && !reason.startsWith("OPS-")) return undefined;
    const { approvers = { users: [], teams: [] } } = policy;
    const request: Request = {
      ...{ name, user, slot, place, role, seconds, life, generation, isEmergency },
      target: found.uid,
      rules: this.#rulesOf(place, role),
      approvers: [...this.users.keys()].filter((other) => this.#isNamed(approvers, other)),
      expires: Math.floor((now + PENDING_MS) / 1_000) * 1_000,
      phase: "Pending",
      approvals: [],
      from: 0,
      until: 0,
    };
    const automatic = policy.autoApprove === undefined ? undefined : APPROVAL_CONDITIONS[policy.autoApprove];
    if (isEmergency || automatic?.holds(asking, { role, place, seconds }, now)) grant(request, now);
    this.requests.push(request);
    return request;
  }

  /** Whether the conditions of a request do not hold any more. */
  #isFaulty(request: Request): boolean {
    const { slot, life, generation, user, place, role, target, rules, phase } = request;
    const stored = this.policies.get(slot);
    if (stored === undefined || stored.life !== life || stored.policy.isOff) return true;
    if (phase === "Pending" && stored.generation !== generation) return true;
    if (!this.mayAsk(stored.policy, user) || this.places.get(placeId(place))?.uid !== target) return true;
    return !this.offers(slot, stored.policy, place, role) || this.#rulesOf(place, role) !== rules;
  }

  #isOnePerson = (one: string, other: string): boolean =>
    one === other || this.users.get(one)?.email === this.users.get(other)?.email;

  #isApprover = ({ approvers }: Policy, user: string): boolean =>
    user === this.approverByRole || (approvers !== undefined && this.#isNamed(approvers, user));

  /** Whether an approval counts, behind those of others. */
  #counts(
    { approvers: then, user: requester }: Request,
    policy: Policy,
    by: string,
    others: readonly string[],
  ): boolean {
    if (this.users.get(by)?.isLocked !== false || !this.#isApprover(policy, by)) return false;
    if (by !== this.approverByRole && !then.includes(by)) return false;
    if (policy.approvers?.allowRequester !== true && this.#isOnePerson(by, requester)) return false;
    return !others.some((other) => this.#isOnePerson(other, by));
  }

  /** Makes the decision. False: it is refused. */
  decide(request: Request, decision: Decision, by: string, now: number): boolean {
    const { phase, user, slot } = request;
    if (this.users.get(by)?.isLocked !== false) return false;
    const policy = this.policies.get(slot)?.policy;
    const mayDecide = policy !== undefined && this.#isApprover(policy, by);
    if (decision === "Withdraw") {
      if (by !== user || phase === "Ended") return false;
    } else if (!mayDecide) return false;
    if (decision === "Review") return request.isEmergency && !this.#isOnePerson(by, user);
    if (phase !== "Pending" && (decision === "Deny" || decision === "Approve")) return false;
    if (phase !== "Approved" && decision === "Revoke") return false;
    if (decision !== "Approve") {
      request.phase = "Ended";
      return true;
    }
    if (policy === undefined || now >= request.expires || this.#isFaulty(request)) return false;
    const { approvals } = request;
    if (!this.#counts(request, policy, by, approvals)) return false;
    request.approvals = [
      ...approvals.filter((other, at) => this.#counts(request, policy, other, approvals.slice(0, at))),
      by,
    ];
    if (request.approvals.length >= (policy.approvers?.count ?? 1)) grant(request, now);
    return true;
  }

  /** Ends the requests that are over or do not hold, as the leading server does when it looks at them. */
  look(requests: readonly Request[], time: ServerTime): void {
    for (const request of requests) {
      if (request.phase === "Ended") continue;
      const isOver = request.phase === "Pending" ? request.expires <= time.now() : !isAlive(request, time);
      if (isOver || this.#isFaulty(request)) request.phase = "Ended";
    }
  }

  /** Rights of grants of a user that are alive on a server. */
  granted(user: string, time: ServerTime): readonly string[] {
    const alive = this.requests.filter((request) => isAlive(request, time));
    return alive
      .filter(({ user: owner, place, target }) => owner === user && this.places.get(placeId(place))?.uid === target)
      .map(({ place, role }) => `${placeId(place)}/${role}`);
  }
}

function grant(request: Request, now: number): void {
  request.phase = "Approved";
  request.from = Math.floor(now / 1_000) * 1_000;
  request.until = request.from + request.seconds * 1_000;
}

/** Asked after each change of a clock, as a server with requests is: what is over once is over for good. */
function isAlive({ name, phase, from, until }: Request, { now, elapsed, learned, over }: ServerTime): boolean {
  if (phase !== "Approved") return false;
  const known = learned.get(name) ?? { now: now(), elapsed: elapsed() };
  learned.set(name, known);
  const latest = Math.max(now(), known.now + elapsed() - known.elapsed);
  if (latest >= until || from - SKEW_MS > now()) over.add(name);
  return !over.has(name);
}
