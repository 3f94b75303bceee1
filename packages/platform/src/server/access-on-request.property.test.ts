// Random policies, requests, decisions, clocks, users, teams, roles and targets on two servers of one store, against an oracle over plain data: each
// server grants exactly the standing roles and those of requests that are granted and alive. TEST_SEED decides what is drawn.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  AccessOracle,
  CLUSTERS,
  PLACES,
  type Place,
  type Policy,
  PROJECTS,
  placeId,
  ROLES,
  type ServerTime,
  SLOTS,
} from "./testing/access-oracle.ts";
import {
  ALL,
  type Command,
  commands,
  EMAILS,
  EXAMPLE_POLICIES,
  EXAMPLES,
  isOfProject,
  MINUTE,
  policies,
  policyPath,
  REASONS,
  STANDING,
  specOf,
  TARGETS,
  TEAMS,
  USERS,
} from "./testing/access-scripts.ts";
import { openAccessServers } from "./testing/access-servers.ts";

const SEED = Number(process.env["TEST_SEED"] ?? 37);
const RUNS = process.env["EVERY_CASE"] === undefined ? 4 : 300;
const RBAC = "rbac.authorization.k8s.io";
const NOWHERE: (typeof ALL)[number] = { place: { kind: "Cluster", project: "", name: "none" }, role: "" };
const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];

/** Counts of all runs. */
const seen = { approvals: 0, granted: 0, alive: 0, refused: 0, ended: 0, checks: 0 };

async function run(first: readonly Policy[], script: readonly Command[]): Promise<void> {
  await using world = await openAccessServers();
  const { servers } = world;
  const oracle = new AccessOracle("gina");
  const times: readonly ServerTime[] = servers.map(({ time: { clock } }) => ({
    ...{ now: () => clock.now(), elapsed: () => clock.elapsed() },
    ...{ over: new Set<string>(), learned: new Map() },
  }));
  const at = (number: number) => ({ server: servers[number as 0 | 1], time: times[number] as ServerTime });
  const keys = new Map<string, string>();
  /** Users with rights, now or before. All others take turns at being looked at. */
  const holders = new Set(Object.keys(STANDING));
  let made = 0;

  const own = (resource: string, namespaced = false) => ({ group: "management.postern", resource, namespaced });
  const objectOf = (kind: string, name: string, spec: object, metadata: object = {}): any => ({
    ...{ apiVersion: "management.postern/v1", kind, spec },
    metadata: { name, uid: `uid-${kind}-${name}`, ...metadata },
  });
  const putUser = async (name: string): Promise<void> => {
    const { email, isOnCall, isLocked } = oracle.users.get(name) ?? { email: "", isOnCall: false, isLocked: false };
    const spec = { email, groups: isOnCall ? ["oncall"] : [], disabled: isLocked };
    await world.put(own("users"), objectOf("User", name, spec));
  };
  const putTeam = async (team: string): Promise<void> =>
    await world.put(own("teams"), objectOf("Team", team, { users: oracle.teams.get(team) ?? [] }));
  const putRole = async (name: string): Promise<void> => {
    const resources = [name.replace("reads-", ""), ...(oracle.rules.get(name) === "wide" ? ["endpoints"] : [])];
    const { spec: _, ...role } = objectOf("ClusterRole", name, {});
    const rules = [{ apiGroups: [""], resources, verbs: ["get"] }];
    const location = { group: RBAC, resource: "clusterroles", namespaced: false };
    await world.put(location, { ...role, apiVersion: `${RBAC}/v1`, rules });
  };
  const putPlace = async (place: Place): Promise<void> => {
    const { kind, project, name } = place;
    const { uid = "", env = "" } = oracle.places.get(placeId(place)) ?? {};
    const metadata = { uid, labels: { env } };
    if (kind === "Cluster") return await world.put(own("clusters"), objectOf("Cluster", name, {}, metadata));
    if (kind === "Project") {
      const members = project === "a" ? [{ kind: "User", name: "bob", clusterRole: "reads-services" }] : [];
      return await world.put(own("projects"), objectOf("Project", project, { members }, metadata));
    }
    const extraAccessRules = project === "a" && name === "eu" ? [{ clusterRole: "view", users: ["dora"] }] : [];
    const instance = objectOf("VirtualClusterInstance", name, { extraAccessRules }, metadata);
    instance.metadata.namespace = `p-${project}`;
    await world.put(own("virtualclusterinstances", true), instance);
  };

  async function begin(): Promise<void> {
    for (const namespace of ["default", ...PROJECTS.map((project) => `p-${project}`)])
      await world.put(
        { group: "", resource: "namespaces", namespaced: false },
        { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, uid: `ns-${namespace}` } },
      );
    for (const place of PLACES) {
      const env = place.name === CLUSTERS[0] ? "prod" : "dev";
      oracle.places.set(placeId(place), { uid: `place-${++made}`, env });
      await putPlace(place);
    }
    for (const role of ROLES.Project) {
      oracle.rules.set(role, "narrow");
      await putRole(role);
    }
    for (const name of USERS) {
      oracle.users.set(name, { name, email: EMAILS[name] ?? "", isOnCall: false, isLocked: false });
      await putUser(name);
    }
    for (const [team, members] of Object.entries(TEAMS)) {
      oracle.teams.set(team, members);
      await putTeam(team);
    }
    const bound = { apiVersion: `${RBAC}/v1`, metadata: { name: "approves", uid: "approves" } };
    const resources = ["accesspolicies", "clusteraccesspolicies"];
    const rules = [{ apiGroups: ["management.postern"], resources, verbs: ["approve"] }];
    const of = (resource: string) => ({ group: RBAC, resource, namespaced: false });
    await world.put(of("clusterroles"), { ...bound, kind: "ClusterRole", rules });
    const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "approves" };
    const subjects = [{ apiGroup: RBAC, kind: "User", name: "gina" }];
    await world.put(of("clusterrolebindings"), { ...bound, kind: "ClusterRoleBinding", roleRef, subjects });
    await world.settled();
    for (const user of USERS) {
      const key = { metadata: { name: user }, spec: { user } };
      const { status, json } = await servers[0].send("POST", "ownedaccesskeys", key);
      expect(status, JSON.stringify(json)).toBe(201);
      keys.set(user, json.spec.key);
    }
  }

  /** A request of a user by a policy, as far as there is one that may be granted. */
  function likelyAsk({ slot, who, what }: Extract<Command, { do: "ask" }>) {
    const askable = [...oracle.policies].filter(([of, { policy }]) => {
      const isOffered = ALL.some(({ place, role }) => oracle.offers(of, policy, place, role) && role !== "admin");
      return !policy.isOff && isOffered && USERS.some((user) => oracle.mayAsk(policy, user));
    });
    const [of, stored] = pick(askable, slot) ?? [];
    if (of === undefined || stored === undefined) return undefined;
    const { policy } = stored;
    const offered = ALL.filter(({ place, role }) => oracle.offers(of, policy, place, role) && role !== "admin");
    const user = pick(
      USERS.filter((name) => oracle.mayAsk(policy, name)),
      who,
    );
    return { of, policy, user, ...pick(offered, what) };
  }

  async function ask(command: Extract<Command, { do: "ask" }>): Promise<void> {
    const { who, what, seconds, isEmergency } = command;
    const likely = command.isLikely ? likelyAsk(command) : undefined;
    const { of = command.slot, policy } = likely ?? {};
    const { place, role } = { ...(pick(ALL, what) ?? NOWHERE), ...likely };
    const user = likely?.user ?? pick(USERS, who) ?? "";
    const reason = policy === undefined ? (REASONS[command.reason] ?? "") : "OPS-12 the queue";
    const asked = { ...{ name: `r${++made}`, user, slot: of, place, role, reason, isEmergency } };
    const given = { ...asked, seconds: policy === undefined ? seconds : Math.min(seconds, policy.maxSeconds) };
    const { server: to, time } = at(command.server);
    const { project, kind, name } = place;
    const target = { ...(kind === "Cluster" ? { cluster: name } : { project }) };
    const request = oracle.ask(given, time.now());
    const spec = {
      policy: { name: `policy-${of}`, kind: isOfProject(of) ? "AccessPolicy" : "ClusterAccessPolicy" },
      target: { ...target, ...(kind === "VirtualCluster" ? { virtualCluster: name } : {}) },
      ...(role === "" ? {} : { role }),
      ...{ durationSeconds: given.seconds, reason, emergency: isEmergency },
    };
    const body = { metadata: { name: given.name }, spec };
    const { status, json } = await to.send("POST", "accessrequests", body, keys.get(user));
    const phase = status === 201 ? json.status.phase : "refused";
    expect(phase, JSON.stringify(json)).toBe(request?.phase ?? "refused");
    if (request === undefined) seen.refused++;
    else {
      holders.add(user);
      await written(request);
    }
  }

  async function decide(command: Extract<Command, { do: "decide" }>): Promise<void> {
    const { which, who, decision } = command;
    const { server: to, time } = at(command.server);
    const all = oracle.requests.flatMap((request) => USERS.map((by) => ({ request, by })));
    const counting = all.filter(({ request, by }) => oracle.decide(structuredClone(request), decision, by, time.now()));
    const drawn = { request: pick(oracle.requests, which), by: pick(USERS, who) ?? "" };
    const { request, by } = (command.isLikely ? pick(counting, which * 7 + who) : undefined) ?? drawn;
    if (request === undefined) return;
    const before = request.phase;
    const counts = oracle.decide(request, decision, by, time.now());
    const path = `accessrequests/${request.name}/approval`;
    const { status, json } = await to.send("POST", path, { spec: { decision } }, keys.get(by));
    const what = `${decision} by ${by}, while ${before}: ${JSON.stringify(json)}`;
    expect(status < 300, what).toBe(counts);
    if (counts && decision === "Approve")
      expect(json.status.phase === "Approved", what).toBe(request.phase === "Approved");
    if (counts && decision === "Approve") seen.approvals++;
    if (!counts) seen.refused++;
    else await written(request);
  }

  /** The leading server looks at a request once it is written. */
  async function written(request: (typeof oracle.requests)[number]): Promise<void> {
    await world.settled();
    oracle.look([request], times[0] as ServerTime);
  }

  const toggled = (list: readonly string[], name: string): readonly string[] =>
    list.includes(name) ? list.filter((other) => other !== name) : [...list, name];

  async function perform(command: Command): Promise<void> {
    switch (command.do) {
      case "putPolicy": {
        const { slot: of } = command;
        const cut = command.policy.targets.filter(({ kind }) => kind !== "Cluster");
        const targets = isOfProject(of) ? (cut.length > 0 ? cut : TARGETS.slice(0, 1)) : command.policy.targets;
        const policy = { ...command.policy, targets };
        const isThere = oracle.policies.has(of);
        const body = {
          apiVersion: "management.postern/v1",
          kind: isOfProject(of) ? "AccessPolicy" : "ClusterAccessPolicy",
          ...{ metadata: { name: `policy-${of}` }, spec: specOf(policy, of) },
        };
        const path = isThere ? `${policyPath(of)}/policy-${of}` : policyPath(of);
        const { status, json } = await at(command.server).server.send(isThere ? "PUT" : "POST", path, body);
        expect(status, JSON.stringify(json)).toBe(isThere ? 200 : 201);
        return oracle.putPolicy(of, policy);
      }
      case "deletePolicy": {
        if (!oracle.policies.delete(command.slot)) return;
        const path = `${policyPath(command.slot)}/policy-${command.slot}`;
        expect((await at(command.server).server.send("DELETE", path)).status).toBe(200);
        return;
      }
      case "ask":
        return await ask(command);
      case "decide":
        return await decide(command);
      case "forget": {
        const request = pick(oracle.requests, command.which);
        if (request === undefined) return;
        oracle.requests.splice(oracle.requests.indexOf(request), 1);
        expect((await at(command.server).server.send("DELETE", `accessrequests/${request.name}`)).status).toBe(200);
        return;
      }
      case "onCall":
      case "lock": {
        const name = USERS[command.who] ?? "";
        const user = oracle.users.get(name);
        if (user !== undefined && command.do === "onCall") user.isOnCall = !user.isOnCall;
        else if (user !== undefined) user.isLocked = !user.isLocked;
        return await putUser(name);
      }
      case "team": {
        const team = Object.keys(TEAMS)[command.team] ?? "";
        oracle.teams.set(team, toggled(oracle.teams.get(team) ?? [], USERS[command.who] ?? ""));
        return await putTeam(team);
      }
      case "role": {
        const role = ROLES.Project[command.role] ?? "";
        oracle.rules.set(role, oracle.rules.get(role) === "wide" ? "narrow" : "wide");
        return await putRole(role);
      }
      case "label":
      case "replace": {
        const place = PLACES[command.at] as Place;
        const { uid, env } = oracle.places.get(placeId(place)) ?? { uid: "", env: "" };
        const isNew = command.do === "replace";
        oracle.places.set(placeId(place), {
          uid: isNew ? `place-${++made}` : uid,
          env: isNew ? env : env === "prod" ? "dev" : "prod",
        });
        return await putPlace(place);
      }
      case "setClock": {
        const { time } = at(command.server).server;
        return time.setTimeOfDay(time.clock.now() + command.by * MINUTE);
      }
      case "standStill":
        for (const { time } of servers) time.standStill(command.ms);
        return;
      case "pass":
        // The leading server looks at each open request every 30 seconds.
        for (const { time } of servers) time.advance(command.ms);
        await world.settled();
        return oracle.look(oracle.requests, times[0] as ServerTime);
    }
  }

  await begin();
  const firstPolicies = first.map((policy, at): Command => ({ do: "putPolicy", slot: at, server: at % 2, policy }));
  for (const [step, command] of [...firstPolicies, ...script].entries()) {
    await perform(command);
    await world.settled();
    for (const [number, time] of times.entries())
      for (const user of [...holders, USERS[step % USERS.length] ?? ""]) {
        const granted = oracle.granted(user, time);
        const standing = STANDING[user] ?? [];
        const expected = oracle.users.get(user)?.isLocked ? [] : [...new Set([...standing, ...granted])].sort();
        const found = [...(await at(number).server.rightsOf(keys.get(user) ?? ""))].sort();
        expect(found, `step ${step}, ${command.do}, server ${number}, user ${user}`).toEqual(expected);
        seen.alive += granted.length;
        seen.checks++;
      }
    expect(world.errors).toEqual([]);
  }
  seen.granted += oracle.requests.filter(({ from }) => from > 0).length;
  seen.ended += oracle.requests.filter(({ phase }) => phase === "Ended").length;
}

test(`rights are those of standing memberships and of granted requests that are alive (TEST_SEED=${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const first = fc.array(policies, { minLength: SLOTS, maxLength: SLOTS });
  const script = fc.array(commands, { minLength: 1, maxLength: 60, size: "max" });
  const examples = EXAMPLES.map((steps): [Policy[], Command[]] => [[...EXAMPLE_POLICIES], [...steps]]);
  await fc.assert(fc.asyncProperty(first, script, run), { seed: SEED, numRuns: RUNS + EXAMPLES.length, examples });
  // The cases are not all of one kind.
  for (const count of [seen.approvals, seen.granted, seen.refused, seen.ended]) expect(count).toBeGreaterThan(RUNS / 2);
  expect(seen.alive).toBeGreaterThan(seen.checks / 25);
});
