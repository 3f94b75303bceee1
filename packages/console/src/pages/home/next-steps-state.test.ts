import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { hasOpenStep, keyFacts, stepsOfAdministrator, stepsOfMember } from "./next-steps-state.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");
const key = (name: string, spec: object, creationTimestamp = "2026-11-28T11:00:00Z", metadata: object = {}) =>
  ({ metadata: { name, creationTimestamp, ...metadata }, spec }) as OwnedAccessKey;

const FIRST = key("admin", { user: "admin", type: "User" });
const SESSION = key("login-x", { user: "admin", type: "Login" });
const scope = { virtualClusters: [{ project: "default", virtualCluster: "demo" }] };
const TOKEN = key("default-demo-x", { user: "admin", type: "Other", scope }, "2026-11-28T11:00:00Z", {
  generateName: "default-demo-",
});

it.each([
  ["the first start", [FIRST, SESSION], { isNew: true, hasKey: false, hasKubeconfig: false }],
  ["a kubeconfig", [FIRST, TOKEN], { isNew: true, hasKey: false, hasKubeconfig: true }],
  ["a key of a user", [FIRST, key("ci", { user: "admin" })], { isNew: true, hasKey: true, hasKubeconfig: false }],
  ["a key of a team", [FIRST, key("ci", { team: "web" })], { isNew: true, hasKey: true, hasKubeconfig: false }],
  [
    "a key of a CI job, issued by a trust rule",
    [FIRST, key("job-x", { user: "bot", type: "Other" })],
    { isNew: true, hasKey: false, hasKubeconfig: false },
  ],
  [
    "a key that is older than a month",
    [key("ci", { user: "admin" }, "2026-10-20T00:00:00Z")],
    { isNew: false, hasKey: true, hasKubeconfig: false },
  ],
])("after %s, knows what there is", (_, keys, facts) => {
  expect(keyFacts(keys, "admin", NOW)).toEqual(facts);
});

it("counts no kubeconfig of another user", () => {
  expect(keyFacts([TOKEN], "jane", NOW).hasKubeconfig).toBe(false);
});

const FACTS = { isNew: true, hasKey: false, hasKubeconfig: false };
const NOTHING = { projects: [], providers: [], hosts: [], hasBackup: false, hasCluster: false, hasAlerts: false };
const MAY = { provider: true, host: true, backup: true };
const named = (name: string, spec: object = {}) => ({ metadata: { name }, spec }) as never;
const done = (steps: ReturnType<typeof stepsOfMember>) => steps.filter(({ isDone }) => isDone).map(({ id }) => id);

it("ticks off each step of an administrator by itself", () => {
  const created = { projects: [named("default")], providers: [], hosts: [named("embedded", { local: true })] };
  const first = stepsOfAdministrator(FACTS, { ...NOTHING, ...created }, MAY);
  expect(first.map(({ id }) => id)).toEqual(["key", "provider", "project", "cluster", "host", "backup", "alerts"]);
  expect(done(first)).toEqual([]);
  expect(done(stepsOfAdministrator({ ...FACTS, hasKey: true }, NOTHING, MAY))).toEqual(["key"]);
  for (const [found, id] of [
    [{ providers: [named("sso")] }, "provider"],
    [{ projects: [named("shop")] }, "project"],
    [{ hosts: [named("eu-west")] }, "host"],
    [{ hasBackup: true }, "backup"],
    [{ hasCluster: true }, "cluster"],
    [{ hasAlerts: true }, "alerts"],
  ] as const)
    expect(done(stepsOfAdministrator(FACTS, { ...NOTHING, ...found }, MAY))).toEqual([id]);
});

it("shows no step that is not allowed", () => {
  const none = { provider: false, host: false, backup: false };
  expect(stepsOfAdministrator(FACTS, { ...NOTHING, hasAlerts: undefined }, none).map(({ id }) => id)).toEqual([
    "key",
    "project",
    "cluster",
  ]);
});

it("has nothing left for a member with access, a kubeconfig and a key", () => {
  expect(hasOpenStep(stepsOfMember(FACTS, NOTHING))).toBe(true);
  const all = stepsOfMember(
    { isNew: true, hasKey: true, hasKubeconfig: true },
    { ...NOTHING, projects: [named("shop")] },
  );
  expect(hasOpenStep(all)).toBe(false);
});
