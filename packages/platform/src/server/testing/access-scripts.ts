// Drawn for access on request: policies, and the steps of a script.

import fc from "fast-check";
import {
  APPROVAL_CONDITIONS,
  type Decision,
  PLACES,
  type Policy,
  REQUESTER_CONDITIONS,
  ROLES,
  SLOTS,
  type Target,
} from "./access-oracle.ts";

/** Everything that may be asked for, by number. */
export const ALL = PLACES.flatMap((place) => ROLES[place.kind].map((role) => ({ place, role })));
export const MINUTE = 60_000;
/** The second account of ann; gina approves by her role. */
export const EMAILS: { readonly [user: string]: string } = {
  ...{ ann: "ann@x.test", ann2: "ann@x.test", bob: "bob@x.test" },
  ...{ carl: "carl@x.test", dora: "dora@x.test", gina: "gina@x.test" },
};
export const USERS = Object.keys(EMAILS);
export const TEAMS: { readonly [team: string]: readonly string[] } = { leads: ["carl", "dora"], devs: ["ann", "bob"] };
/** Bob is a member of project a, dora has a role inside one virtual cluster. */
export const STANDING: { readonly [user: string]: readonly string[] } = {
  bob: ["Project/a//reads-services"],
  dora: ["VirtualCluster/a/eu/view"],
};
export const REASONS = ["", "because", "OPS-12 the queue"];

export const TARGETS: readonly Target[] = [
  { kind: "Project", projects: ["a"], roles: ["reads-secrets"] },
  { kind: "Project", projects: ["*"], roles: ["reads-secrets", "reads-services"] },
  { kind: "VirtualCluster", projects: ["a"], names: ["eu"], roles: ["view", "edit", "admin"] },
  { kind: "VirtualCluster", projects: ["*"], env: "prod", roles: ["edit"] },
  { kind: "VirtualCluster", projects: ["b"], names: ["eu", "us"], env: "prod", roles: ["view"] },
  { kind: "Cluster", names: ["eu"] },
  { kind: "Cluster", env: "prod" },
];

const few = (names: readonly string[], minLength = 0) => fc.subarray([...names], { minLength, maxLength: 2 });
const index = (list: readonly unknown[]) => fc.nat(list.length - 1);
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

export const policies: fc.Arbitrary<Policy> = fc.record({
  users: few(["ann", "bob", "carl"], 1),
  teams: few(Object.keys(TEAMS)),
  condition: sometimes(index(REQUESTER_CONDITIONS)),
  targets: fc.subarray([...TARGETS], { minLength: 1, maxLength: 4 }),
  maxSeconds: fc.constantFrom(60, 300, 3_600, 3_600),
  approvers: fc.option(
    fc.record({
      users: few(["ann", "ann2", "bob", "carl"]),
      teams: few(Object.keys(TEAMS), 1),
      count: fc.constantFrom(1, 1, 2),
      allowRequester: fc.boolean(),
    }),
    { nil: undefined, freq: 6 },
  ),
  autoApprove: fc.option(index(APPROVAL_CONDITIONS), { nil: undefined, freq: 1 }),
  allowEmergency: fc.boolean(),
  reason: fc.constantFrom("", "", "required", "ticket"),
  isOff: fc.constantFrom(...new Array<boolean>(9).fill(false), true),
});

const nat = fc.nat(1_000);
const slot = fc.nat(SLOTS - 1);
const server = fc.nat(1);
/** `isLikely`: what is drawn is turned into a request or decision that may be granted, where there is one. */
const isLikely = fc.constantFrom(true, true, true, true, false);
export const commands = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("putPolicy" as const), slot, server, policy: policies }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("deletePolicy" as const), slot, server }) },
  {
    weight: 16,
    arbitrary: fc.record({
      ...{ do: fc.constant("ask" as const), slot, server, isLikely, who: nat, what: nat },
      seconds: fc.constantFrom<number>(60, 300, 3_600, 3_600),
      reason: index(REASONS),
      isEmergency: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      ...{ do: fc.constant("decide" as const), server, isLikely, which: nat, who: nat },
      decision: fc.constantFrom<Decision>(
        ...(["Approve", "Approve", "Approve", "Approve", "Deny", "Withdraw", "Revoke", "Review"] as const),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const), server, which: nat }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("onCall" as const), who: index(USERS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("lock" as const), who: index(USERS) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("team" as const), who: index(USERS), team: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("role" as const), role: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("label" as const), at: index(PLACES) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replace" as const), at: index(PLACES) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("setClock" as const),
      server,
      by: fc.constantFrom<number>(-1_440, -6, -3, -0.5, 0.5, 3, 60, 1_440),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("standStill" as const),
      ms: fc.constantFrom<number>(999, 1_000, 20_000, 59_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom<number>(31_000, 31_000, 5 * MINUTE) }),
  },
);
export type Command = typeof commands extends fc.Arbitrary<infer T> ? T : never;

export function specOf(policy: Policy, slotNumber: number): object {
  const { users, teams, condition, targets, maxSeconds, approvers, autoApprove, allowEmergency, reason, isOff } =
    policy;
  return {
    requesters: {
      ...{ users, teams },
      ...(condition === undefined ? {} : { expression: REQUESTER_CONDITIONS[condition]?.cel }),
    },
    targets: targets.map(({ kind, projects, names, env, roles }) => ({
      kind,
      ...(projects === undefined || isOfProject(slotNumber) ? {} : { projects }),
      ...(names === undefined ? {} : { names }),
      ...(env === undefined ? {} : { selector: { matchLabels: { env } } }),
      ...(roles === undefined ? {} : { roles }),
    })),
    maxDurationSeconds: maxSeconds,
    ...(approvers === undefined ? {} : { approvers }),
    ...(autoApprove === undefined ? {} : { autoApprove: APPROVAL_CONDITIONS[autoApprove]?.cel }),
    allowEmergency,
    ...(reason === "" ? {} : { reason: reason === "ticket" ? { pattern: "^OPS-[0-9]+" } : { required: true } }),
    disabled: isOff,
  };
}
export const isOfProject = (slotNumber: number): boolean => slotNumber === SLOTS - 1;
export const policyPath = (slotNumber: number): string =>
  isOfProject(slotNumber) ? "namespaces/p-a/accesspolicies" : "clusteraccesspolicies";

const PLAIN: Policy = {
  ...{ users: ["ann"], teams: [], condition: undefined, targets: TARGETS.slice(0, 1), maxSeconds: 300 },
  approvers: { users: ["ann2"], teams: ["leads"], count: 1, allowRequester: false },
  ...{ autoApprove: undefined, allowEmergency: true, reason: "", isOff: false },
};
/** The second one offers clusters by label. */
export const EXAMPLE_POLICIES: readonly Policy[] = [PLAIN, { ...PLAIN, targets: TARGETS.slice(-1) }, PLAIN];
/** The place and role of a request by number, of all there are: the first role in a project, and the cluster eu. */
const PROJECT_ROLE = 0;
const CLUSTER = ALL.findIndex(({ place }) => place.kind === "Cluster");
const CLUSTER_PLACE = PLACES.findIndex(({ kind }) => kind === "Cluster");

const ask = (isEmergency = false, what = PROJECT_ROLE): Command => {
  const asked = { who: USERS.indexOf("ann"), what, seconds: 60, reason: 0, isEmergency };
  return { ...{ do: "ask", slot: what === CLUSTER ? 1 : 0, server: 0, isLikely: false }, ...asked };
};
const decide = (by: string, decision: Decision, server = 0): Command => ({
  ...{ do: "decide", server, isLikely: false, which: 0, who: USERS.indexOf(by), decision },
});
const joins = (user: string): Command => ({ do: "team", who: USERS.indexOf(user), team: 0 });

/** Scripts that were decided wrongly once, and those that random ones are rarely like. */
export const EXAMPLES: readonly (readonly Command[])[] = [
  // A request that was not approved in time, before the leading server has looked at it.
  [ask(), { do: "setClock", server: 1, by: 1_440 }, decide("carl", "Approve", 1)],
  // An approver by a role joins a team of approvers.
  [ask(), joins("gina"), decide("gina", "Approve")],
  // A second account reviews the emergency of a locked one.
  [ask(true), { do: "lock", who: USERS.indexOf("ann") }, decide("ann2", "Review")],
  // The policy, the label and the approvers change before the approval.
  [ask(), { do: "putPolicy", slot: 0, server: 0, policy: { ...PLAIN, maxSeconds: 60 } }, decide("carl", "Approve")],
  [ask(false, CLUSTER), { do: "label", at: CLUSTER_PLACE }, decide("carl", "Approve")],
  [ask(), joins("bob"), decide("bob", "Approve")],
  // A clock goes back, and the time of the access passes.
  [
    ...[ask(), decide("carl", "Approve")],
    ...([0, 1] as const).map((server): Command => ({ do: "setClock", server, by: -3 })),
    ...[59_000, 1_000].map((ms): Command => ({ do: "standStill", ms })),
  ],
  // Another cluster of the same name.
  [ask(false, CLUSTER), decide("carl", "Approve"), { do: "replace", at: CLUSTER_PLACE }],
];
